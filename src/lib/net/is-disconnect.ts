/** Whether the peer has closed the connection without waiting for the rest: not an error of what it sent. */
export function isDisconnect({ code }: NodeJS.ErrnoException): boolean {
  return code === 'ECONNRESET' || code === 'EPIPE'
}
