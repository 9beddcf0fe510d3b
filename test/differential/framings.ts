import type { Random } from './random.ts'

/** A serialized body. */
export interface Framing {
  /** Lines of content-length or transfer-encoding. */
  readonly lines: readonly string[]
  readonly bytes: Buffer
}

const end = '0\r\n\r\n'

/** Picks a framing on which all servers agree, including unusual ones. */
export function unambiguousFraming(body: Buffer | undefined, random: Random): Framing {
  if (body === undefined)
    return { lines: random.chance(0.3) ? ['content-length: 0'] : [], bytes: Buffer.alloc(0) }
  if (random.chance(0.6))
    return { lines: [`content-length: ${random.chance(0.05) ? '00' : ''}${body.length}`], bytes: body }
  const name = random.pick([
    'transfer-encoding: chunked',
    'Transfer-Encoding: chunked',
    'transfer-encoding: Chunked',
  ])
  return {
    lines: [name],
    bytes: serializeChunked(
      body,
      random,
      random.pick([end, end, end, '000\r\n\r\n', '0;a=b\r\n\r\n', '0\r\nx-api-key: k\r\n\r\n']),
    ),
  }
}

/** Picks a framing that is invalid, or on which servers disagree. */
export function hostileFraming(draftBody: Buffer | undefined, random: Random): Framing {
  const body = draftBody ?? Buffer.from('{}')
  const length = `content-length: ${body.length}`
  const chunks = serializeChunked(body, random, end)
  return random.pick<Framing>([
    { lines: [length, 'transfer-encoding: chunked'], bytes: chunks },
    { lines: ['transfer-encoding: chunked', 'content-length: 4'], bytes: body },
    { lines: [length, `content-length: ${body.length + random.below(3)}`], bytes: body },
    { lines: [`content-length: ${body.length}, ${body.length}`], bytes: body },
    {
      lines: [`content-length: ${random.pick(['+', '-', '0x', ' ', '\t', '"'])}${body.length}`],
      bytes: body,
    },
    { lines: [`content-length: ${body.length + random.below(40) - 20}`], bytes: body },
    {
      lines: [
        `content-length: ${random.pick(['', '1e1', '99999999999999999999', '4294967297', '٣', '5;a'])}`,
      ],
      bytes: body,
    },
    { lines: [`content-length:${body.length}`, `content_length: 0`], bytes: body },
    {
      lines: [
        `transfer-encoding: ${random.pick(['gzip, chunked', 'chunked, chunked', 'chunked, identity', 'identity', 'xchunked', 'chunked;a=b', '"chunked"', '', '\x0bchunked', 'chunked\x00', ',chunked', 'cow'])}`,
      ],
      bytes: chunks,
    },
    { lines: [`transfer-encoding${random.pick([' ', '\t', '\x00', '_'])}: chunked`], bytes: chunks },
    { lines: ['transfer-encoding: chunked', 'transfer-encoding: identity'], bytes: chunks },
    { lines: ['transfer-encoding:\r\n chunked'], bytes: chunks },
    {
      lines: ['transfer-encoding: chunked'],
      bytes: serializeChunked(
        body,
        random,
        random.pick([
          '',
          '0',
          '0\r\n',
          '0\n\n',
          '-0\r\n\r\n',
          'zz\r\n\r\n',
          '0\r\nx-api-key\r\n\r\n',
          '0\r\ncontent-length: 5\r\n\r\n',
        ]),
      ),
    },
    {
      lines: ['transfer-encoding: chunked'],
      bytes: Buffer.concat([
        Buffer.from(
          `${random.pick(['0x', '+', '-', ' ', 'g', '', '1', 'ffffffffffffffff', '0000000000000000'])}${body.length.toString(16)}${random.pick(['\r\n', '\n', '\r', ';\n', ' \r\n'])}`,
        ),
        body,
        Buffer.from(`\r\n${end}`),
      ]),
    },
    { lines: [], bytes: body },
  ])
}

/** Splits the body into chunks of random sizes, some with extensions. */
function serializeChunked(body: Buffer, random: Random, ending: string): Buffer {
  const chunks: Buffer[] = []
  for (let from = 0; from < body.length;) {
    const size = Math.min(body.length - from, 1 + random.below(random.pick([4, 64, 100_000])))
    if (chunks.length > 400)
      return Buffer.concat([...chunks, serializeChunk(body.subarray(from), '', ''), Buffer.from(ending)])
    chunks.push(
      serializeChunk(
        body.subarray(from, from + size),
        random.pick(['', '', '', '0', '000']),
        random.pick(['', '', '', ';a', ';a=b', ';a="b;c"']),
      ),
    )
    from += size
  }
  return Buffer.concat([...chunks, Buffer.from(ending)])
}

function serializeChunk(bytes: Buffer, zeros: string, extension: string): Buffer {
  return Buffer.concat([
    Buffer.from(`${zeros}${bytes.length.toString(16)}${extension}\r\n`),
    bytes,
    Buffer.from('\r\n'),
  ])
}
