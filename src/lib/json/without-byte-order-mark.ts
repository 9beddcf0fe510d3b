const byteOrderMark = Buffer.from('\ufeff')

/** The bytes without the byte order mark that some servers send before JSON; RFC 8259, section 8.1, lets readers ignore it. */
export function withoutByteOrderMark(body: Buffer): Buffer {
  return body.subarray(0, byteOrderMark.length).equals(byteOrderMark)
    ? body.subarray(byteOrderMark.length)
    : body
}
