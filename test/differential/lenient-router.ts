import { readJsonLines } from '../support/json-lines.ts'
import type { Interpretation } from './interpretation.ts'

interface Documented {
  readonly name: string
  readonly method: string
  readonly path: string
  readonly olderPath?: string
  readonly object: string
}

/** From the documentation, so that this router shares no code with the gateway. */
const operations = ['documented-operations.jsonl', 'lancedb-operations.jsonl']
  .flatMap(
    (file) => readJsonLines(new URL(`../catalog-api/${file}`, import.meta.url)) as readonly Documented[],
  )
  .flatMap(({ path, olderPath, ...operation }) =>
    [path, ...(olderPath === undefined ? [] : [olderPath])].map((one) => ({ ...operation, path: one })),
  )

/** Headers that override target or method on some servers. */
const targetHeaders = [
  'x-original-url',
  'x-rewrite-url',
  'x-original-uri',
  'x-forwarded-uri',
  'x-forwarded-prefix',
]
const methodHeaders = ['x-http-method-override', 'x-http-method', 'x-method-override']

/**
 * Returns every operation and id that some router finds in the head of a request: normalized before or after decoding,
 * decoded twice, without path parameters, in any letter case, with the first or the last delimiter. Ids are decoded at
 * least once, as in the catalog API.
 */
export function interpretHead(
  method: string,
  target: string,
  header: (name: string) => readonly string[],
): Interpretation[] {
  const methods = [method, ...methodHeaders.flatMap(header)].map((name) => name.toUpperCase())
  const targets = [target, ...targetHeaders.flatMap(header)]
  return targets.flatMap((each) => interpretTarget(new Set(methods), each))
}

function interpretTarget(methods: ReadonlySet<string>, target: string): Interpretation[] {
  const mark = target.indexOf('?')
  const path = mark === -1 ? target : target.slice(0, mark)
  const parameters = parseParameters(mark === -1 ? '' : target.slice(mark + 1))
  const paths = new Set<string>()
  for (const raw of closure(path, beforeDecoding)) {
    for (const decoded of [decode(raw), decode(decode(raw)), decodeSegments(raw)]) {
      for (const variant of closure(decoded, afterDecoding)) paths.add(variant)
    }
  }
  return [...paths].flatMap((variant) => matches(methods, variant, parameters))
}

const beforeDecoding = [
  (path: string) => path.replace(/#.*$/s, ''),
  (path: string) => path.replaceAll(/;[^/]*/g, ''),
  (path: string) => path.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/]*/i, ''),
  resolveAsUrl,
  normalize,
]
const afterDecoding = [
  normalize,
  (path: string) => path.replace(/[\0\r\n].*$/s, ''),
  (path: string) => path.replace(/[?#].*$/s, ''),
]

/** Applies the changes any number of times, in any order, and returns all results. */
function closure(text: string, changes: readonly ((text: string) => string)[]): ReadonlySet<string> {
  const found = new Set([text])
  for (const one of found) for (const change of changes) found.add(change(one))
  return found
}

function resolveAsUrl(path: string): string {
  try {
    return new URL(path, 'http://catalog').pathname
  } catch {
    return path
  }
}

function normalize(path: string): string {
  const segments: string[] = []
  for (const segment of path.replaceAll('\\', '/').split('/')) {
    if (segment === '..') segments.pop()
    else if (segment !== '.' && segment !== '') segments.push(segment)
  }
  return `/${segments.join('/')}`
}

/** Percent-decodes valid sequences only. */
function decode(text: string): string {
  return text.replaceAll(/(?:%[0-9a-f]{2})+/gi, (encoded) =>
    Buffer.from(encoded.replaceAll('%', ''), 'hex').toString('utf8'),
  )
}

function decodeSegments(path: string): string {
  return path.split('/').map(decode).join('/')
}

function matches(methods: ReadonlySet<string>, path: string, parameters: Parameters): Interpretation[] {
  const segments = path.replace(/\/$/, '').split('/')
  return operations.flatMap((operation) => {
    const pattern = operation.path.split('/')
    const isMatch =
      pattern.length === segments.length &&
      pattern.every((part, index) => part.startsWith('{') || part === segments[index]?.toLowerCase())
    // Some servers accept GET for operations of POST, but not vice versa.
    if (!isMatch || ![operation.method, 'GET', 'HEAD'].some((method) => methods.has(method))) return []
    const location = pattern.indexOf('{id}')
    const texts = location === -1 ? [] : [segments[location] ?? '', ...parameters.get('id')]
    const ids = location === -1 ? [[]] : texts.flatMap((text) => splitId(text, parameters.get('delimiter')))
    return ids.map((id) => ({ operation: operation.name, id }))
  })
}

function splitId(text: string, sent: readonly string[]): string[][] {
  const delimiters = sent.length === 0 ? ['$'] : sent
  return delimiters.flatMap((delimiter) => {
    if (text === delimiter) return [[]]
    const parts = delimiter === '' ? [text] : text.split(delimiter)
    return [parts, parts.filter((part) => part !== '')]
  })
}

interface Parameters {
  get(name: string): readonly string[]
}

/** Parses pairs separated by `&` or `;`. Names are case-insensitive. */
function parseParameters(query: string): Parameters {
  const pairs = query.split(/[&;]/).map((pair) => {
    const [name = '', ...value] = pair.split('=')
    return [decode(name).toLowerCase(), decode(value.join('=').replaceAll('+', ' '))] as const
  })
  return { get: (name) => pairs.filter(([pairName]) => pairName === name).map(([, value]) => value) }
}
