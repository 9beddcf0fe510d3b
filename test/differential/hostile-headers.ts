import type { Random } from './random.ts'
import type { RequestDraft } from './request-draft.ts'
import { words } from './target-dictionary.ts'

/** Applies one mutation to the header lines that some servers interpret differently. */
export function mutateHeaders(draft: RequestDraft, random: Random): RequestDraft {
  if (draft.lines.length === 0) return draft
  return { ...draft, lines: random.pick(mutations)(draft.lines, random) }
}

type Mutation = (lines: readonly string[], random: Random) => readonly string[]

const names = [
  ...words('x-api-key authorization host content-type content-length transfer-encoding content-encoding'),
  ...words('x-request-id cookie connection x-catalog-ctx-a x-catalog-ctx-gateway-principal'),
  ...words('x-catalog-table-location x-catalog-table-properties x-lance-ctx-a x-catalog-assertion'),
]
const lookalikeNames = [
  ...words('x_api_key X_Api-Key x-api_key authorization_ content_length transfer_encoding'),
  ...words('x_catalog_ctx_a x_request_id x_forwarded_for x-api-key\x00 x–api–key'),
  'x api-key',
]
const addedLines = [
  'x-original-url: /v1/table/production$orders/drop',
  'x-rewrite-url: /v1/table/production$orders/drop',
  'x-original-uri: /v1/table/production$orders/drop',
  'x-http-method-override: DELETE',
  'x-http-method: GET',
  'x-method-override: PUT',
  'x-forwarded-prefix: /v1/table/production',
  'x-forwarded-uri: /v1/table/production$orders/drop',
  'x-forwarded-for: 127.0.0.1',
  'forwarded: for=127.0.0.1',
  'x-real-ip: 127.0.0.1',
  'x-forwarded-host: production',
  'authorization: Bearer a.b.c',
  'authorization: Basic YTpi',
  'authorization: bearer',
  'proxy-authorization: Basic YTpi',
  'cookie: x-api-key=a',
  'x-catalog-ctx-trace: 1',
  'x-catalog-ctx-gateway: admin',
  'x-catalog-ctx-: a',
  'x-lance-ctx-a: 1',
  'x-catalog-table-location: /production/orders',
  'x-catalog-table-properties: {}',
  'x-catalog-assertion: a.b.c',
  'content-encoding: gzip',
  'content-encoding: identity',
  'content-encoding: br, identity',
  'content-type: text/plain',
  'content-type: application/json; charset=utf-16',
  'expect: 100-continue',
  'expect: 200-ok',
  'upgrade: h2c',
  'upgrade: websocket',
  'te: trailers',
  'trailer: x-api-key',
  'keep-alive: timeout=99999',
  'range: bytes=0-1',
  'if-none-match: *',
  'accept-encoding: gzip',
  'max-forwards: 0',
  'via: 1.1 a',
  'x-request-id: a b',
  'x-request-id: ../../etc',
  'date: x',
  'accept: */*',
]
const connectionOptions = [
  ...words('x-api-key X-Api-Key content-type content-length host authorization close keep-alive'),
  ...words('x-catalog-ctx-a x-request-id upgrade x-custom transfer-encoding te'),
  ' ',
]

const mutations: readonly Mutation[] = [
  (lines, random) => insert(lines, random, random.pick(lines)),
  (lines, random) => insert(lines, random, titleCaseName(random.pick(lines))),
  (lines, random) =>
    insert(
      lines,
      random,
      `${random.pick(names)}: ${random.pick(['', 'other', 'a, b', '0', '5', 'chunked', 'close'])}`,
    ),
  (lines, random) =>
    insert(lines, random, `${random.pick(lookalikeNames)}: ${random.pick(['other', '5', 'chunked'])}`),
  (lines, random) => insert(lines, random, random.pick(addedLines)),
  (lines, random) => insert(lines, random, random.pick(addedLines)),
  (lines, random) =>
    insert(lines, random, `connection: ${random.pick(connectionOptions)}, ${random.pick(connectionOptions)}`),
  (lines, random) =>
    replaceOne(lines, random, (line) =>
      line.replace(':', random.pick([' :', '\t:', '', ': ', ':\t', '\x0b:', '::', ';'])),
    ),
  (lines, random) => replaceOne(lines, random, (line) => random.pick([' ', '\t', '\x00', '\x0b']) + line),
  (lines, random) =>
    replaceOne(lines, random, (line) =>
      line.replace(': ', `:${random.pick(['\r\n ', '\r\n\t', '\n ', '\r '])}`),
    ),
  (lines, random) =>
    replaceOne(
      lines,
      random,
      (line) =>
        line +
        random.pick([
          '\x00',
          '\x7f',
          'é',
          '\xff',
          '\r',
          '\nx-a: b',
          '\x1b[0m',
          ' ',
          '\t',
          ',',
          ', x',
          ';a=b',
        ]),
    ),
  (lines, random) => replaceOne(lines, random, titleCaseName),
  (lines, random) => lines.toSpliced(random.below(lines.length), 1),
  (lines, random) => lines.toSorted(() => (random.chance(0.5) ? 1 : -1)),
  (lines, random) =>
    insert(lines, random, `x-large: ${'y'.repeat(random.pick([1_000, 20_000, 33_000, 70_000]))}`),
  (lines, random) => [
    ...lines,
    ...Array.from({ length: random.pick([50, 126, 300, 2_100]) }, (_, index) => `x-${index}: ${index}`),
  ],
  (lines) => lines.map((line) => line.replace(/^x-api-key: .*/, 'x-api-key: cgk_unknown')),
  (lines, random) =>
    lines.map((line) =>
      line.replace(/^x-api-key: (.*)/, (_, key: string) =>
        random.pick([
          `authorization: Bearer ${key}`,
          `x-api-key: ${key}, ${key}`,
          `X-API-KEY:${key}`,
          `cookie: x-api-key=${key}`,
          `x-api-key: "${key}"`,
        ]),
      ),
    ),
]

function insert(lines: readonly string[], random: Random, line: string): string[] {
  return lines.toSpliced(random.below(lines.length + 1), 0, line)
}

function replaceOne(lines: readonly string[], random: Random, change: (line: string) => string): string[] {
  const at = random.below(lines.length)
  return lines.map((line, index) => (index === at ? change(line) : line))
}

function titleCaseName(line: string): string {
  return line.replace(/^[^:]*/, (name) =>
    name.replaceAll(/(^|-)([a-z])/g, (_, dash: string, letter: string) => dash + letter.toUpperCase()),
  )
}
