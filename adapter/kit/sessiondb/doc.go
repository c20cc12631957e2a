// Package sessiondb is the kit for agents that keep conversations in a SQLite database: it shows the database as a folder
// with one file per session, whose lines are rows as JSON objects, so that kits sessionfile and usagescan read them as any
// other store. An adapter declares the queries.
//
// The database is opened read-only for each query, is never locked for longer, and no file appears beside it. Vendors'
// tables and columns do not belong here.
package sessiondb
