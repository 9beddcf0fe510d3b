import type { Socket } from 'node:net'

/** Why what came over a connection was no request. */
export type UnparsedReason =
  | 'cut_short'
  | 'head_too_large'
  | 'head_too_slow'
  | 'idle'
  | 'malformed'
  | 'tls_handshake'
  | 'tls_to_plain_port'

/** An error of the parser, with what it was given. */
interface ParserError extends NodeJS.ErrnoException {
  /** A Buffer, whatever the types of fastify say. */
  readonly rawPacket?: unknown
}

const reasons: Readonly<Record<string, UnparsedReason>> = {
  HPE_HEADER_OVERFLOW: 'head_too_large',
  HPE_INVALID_EOF_STATE: 'cut_short',
  ERR_HTTP_REQUEST_TIMEOUT: 'head_too_slow',
}

/** The reason for an error of a connection; undefined where the client broke it off, which is no fault. */
export function unparsedReason(
  error: ParserError,
  socket: Pick<Socket, 'bytesRead'>,
): UnparsedReason | undefined {
  const { code = '', rawPacket } = error
  if (code === 'ECONNRESET' || code === 'EPIPE') return undefined
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT' && socket.bytesRead === 0) return 'idle'
  if (Buffer.isBuffer(rawPacket) && rawPacket[0] === 0x16 && rawPacket[1] === 0x03) return 'tls_to_plain_port'
  return reasons[code] ?? (code.startsWith('HPE_') ? 'malformed' : 'tls_handshake')
}
