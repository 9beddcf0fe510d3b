let text = ''

/** The current time as an HTTP date (RFC 9110, section 5.6.7). Formatted once a second. */
export function httpDate(): string {
  if (text === '') {
    text = new Date().toUTCString()
    setTimeout(() => (text = ''), 1_000 - (Date.now() % 1_000)).unref()
  }
  return text
}
