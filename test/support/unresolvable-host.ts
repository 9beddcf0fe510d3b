/** A name with a label of more than 63 characters: its resolution fails without a query, which could take seconds. */
export const unresolvableHost = `${'a'.repeat(64)}.invalid`
