//! TLS: the certificate that the server shows.

use std::fmt;
use std::sync::Arc;

use rowkey_base::{Error, Result, SqlState};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::TlsAcceptor;

/// A certificate with its private key.
#[derive(Clone)]
pub struct TlsIdentity {
    config: Arc<ServerConfig>,
    /// The certificate in PEM, for clients to trust, where it was made here.
    certificate: Option<String>,
}

impl TlsIdentity {
    /// A certificate with those that vouch for it, and its private key, in PEM.
    ///
    /// # Errors
    /// `INVALID_PARAMETER_VALUE` for texts that are none, or that do not belong together.
    pub fn from_pem(certificates: &[u8], key: &[u8]) -> Result<Self> {
        let chain: std::result::Result<Vec<CertificateDer<'static>>, _> =
            CertificateDer::pem_slice_iter(certificates).collect();
        let chain = chain.map_err(|error| wrong("certificate", &error))?;
        if chain.is_empty() {
            return Err(wrong("certificate", &"there is none in the file"));
        }
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|error| wrong("private key", &error))?;
        Ok(Self { config: Arc::new(config(chain, key)?), certificate: None })
    }

    /// A new certificate that is signed with its own key, for these names and addresses.
    ///
    /// # Errors
    /// `INVALID_PARAMETER_VALUE` for a text that is neither a name nor an address.
    pub fn self_signed(names: Vec<String>) -> Result<Self> {
        let made = rcgen::generate_simple_self_signed(names).map_err(|error| wrong("certificate", &error))?;
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
        let config = Arc::new(config(vec![made.cert.der().clone()], key)?);
        Ok(Self { config, certificate: Some(made.cert.pem()) })
    }

    /// The certificate in PEM, where it was made here: clients that are to trust it need it.
    pub fn certificate(&self) -> Option<&str> {
        self.certificate.as_deref()
    }

    pub(super) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(Arc::clone(&self.config))
    }
}

fn config(chain: Vec<CertificateDer<'static>>, key: PrivateKeyDer<'static>) -> Result<ServerConfig> {
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| wrong("TLS", &error))?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(|error| wrong("certificate and private key", &error))?;
    Ok(config)
}

fn wrong(what: &str, error: &dyn fmt::Display) -> Error {
    Error::new(SqlState::INVALID_PARAMETER_VALUE, format!("{what}: {error}"))
}

/// Without the key.
impl fmt::Debug for TlsIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TlsIdentity")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_certificate_is_refused() {
        let made = TlsIdentity::self_signed(vec!["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
        let certificate = made.certificate().unwrap();
        assert!(certificate.starts_with("-----BEGIN CERTIFICATE-----"));
        let other = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        let (own, key) = (other.cert.pem(), other.signing_key.serialize_pem());
        assert!(TlsIdentity::from_pem(own.as_bytes(), key.as_bytes()).is_ok());
        for (certificate, key) in
            [("", key.as_str()), ("nonsense", &key), (own.as_str(), ""), (own.as_str(), &own), (certificate, &key)]
        {
            let error = TlsIdentity::from_pem(certificate.as_bytes(), key.as_bytes()).unwrap_err();
            assert_eq!(error.sqlstate(), SqlState::INVALID_PARAMETER_VALUE);
        }
    }
}
