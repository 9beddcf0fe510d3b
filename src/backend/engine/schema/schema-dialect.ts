/** `namespace`: names of the API (`utf8`), without units. `lance`: names of the remote client (`timestamp:us:UTC`). */
export type SchemaDialect = 'namespace' | 'lance'
