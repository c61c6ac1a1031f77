//! PostgreSQL's aggregates.

/// Those that there are.
const AGGREGATES: &str = "
    array_agg avg bit_and bit_or bit_xor bool_and bool_or corr count covar_pop covar_samp every json_agg
    json_object_agg jsonb_agg jsonb_object_agg max min mode percentile_cont percentile_disc regr_avgx regr_avgy
    regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy stddev stddev_pop stddev_samp string_agg
    sum var_pop var_samp variance
";

/// Whether PostgreSQL's function of this name is an aggregate.
pub fn is_aggregate(name: &str) -> bool {
    AGGREGATES.split_whitespace().any(|aggregate| aggregate == name)
}
