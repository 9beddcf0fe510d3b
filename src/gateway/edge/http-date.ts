let text = ''

/** The time as the header `date` says it (RFC 9110, section 5.6.7), to the second: made once for each. */
export function httpDate(): string {
  if (text === '') {
    text = new Date().toUTCString()
    setTimeout(() => (text = ''), 1_000 - (Date.now() % 1_000)).unref()
  }
  return text
}
