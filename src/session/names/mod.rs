//! Names in a statement: which relation, column and alias each identifier means.
