/** The name of a header (RFC 9110, section 5.1). */
export const fieldNameGrammar = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
