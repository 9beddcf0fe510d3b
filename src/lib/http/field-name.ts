/** Header name (RFC 9110, 5.1). */
export const fieldNameGrammar = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
