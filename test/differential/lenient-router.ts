import { readFileSync } from 'node:fs'
import type { Reading } from './readings.ts'

/** The operations of the interface as its document lists them; nothing of this router is the gateway's. */
const operations = JSON.parse(
  readFileSync(new URL('../catalog-api/documented-operations.json', import.meta.url), 'utf8'),
) as readonly {
  readonly name: string
  readonly method: string
  readonly path: string
  readonly object: string
}[]

/** Headers by which some servers let a request say that it is for another target, or of another method. */
const targetHeaders = [
  'x-original-url',
  'x-rewrite-url',
  'x-original-uri',
  'x-forwarded-uri',
  'x-forwarded-prefix',
]
const methodHeaders = ['x-http-method-override', 'x-http-method', 'x-method-override']

/**
 * Every operation and id that some router would find in the head of a request: normalised before or after decoding,
 * decoded twice, without what follows a semicolon, in any case of letters, with the first or the last delimiter.
 * Ids are decoded at least once: the interface says so, and the decoding of `%24` is no difference.
 */
export function readingsOfHead(
  method: string,
  target: string,
  header: (name: string) => readonly string[],
): Reading[] {
  const methods = [method, ...methodHeaders.flatMap(header)].map((name) => name.toUpperCase())
  const targets = [target, ...targetHeaders.flatMap(header)]
  return targets.flatMap((one) => readingsOfTarget(new Set(methods), one))
}

function readingsOfTarget(methods: ReadonlySet<string>, target: string): Reading[] {
  const mark = target.indexOf('?')
  const path = mark === -1 ? target : target.slice(0, mark)
  const parameters = parametersOf(mark === -1 ? '' : target.slice(mark + 1))
  const paths = new Set<string>()
  for (const raw of closure(path, beforeDecoding)) {
    for (const decoded of [decode(raw), decode(decode(raw)), perSegment(raw)]) {
      for (const variant of closure(decoded, afterDecoding)) paths.add(variant)
    }
  }
  return [...paths].flatMap((variant) => matches(methods, variant, parameters))
}

const beforeDecoding = [
  (path: string) => path.replace(/#.*$/s, ''),
  (path: string) => path.replaceAll(/;[^/]*/g, ''),
  (path: string) => path.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/]*/i, ''),
  asUrl,
  normalised,
]
const afterDecoding = [
  normalised,
  (path: string) => path.replace(/[\0\r\n].*$/s, ''),
  (path: string) => path.replace(/[?#].*$/s, ''),
]

/** Everything that comes of applying these any number of times, in any order. */
function closure(text: string, changes: readonly ((text: string) => string)[]): ReadonlySet<string> {
  const found = new Set([text])
  for (const one of found) for (const change of changes) found.add(change(one))
  return found
}

function asUrl(path: string): string {
  try {
    return new URL(path, 'http://catalog').pathname
  } catch {
    return path
  }
}

function normalised(path: string): string {
  const segments: string[] = []
  for (const segment of path.replaceAll('\\', '/').split('/')) {
    if (segment === '..') segments.pop()
    else if (segment !== '.' && segment !== '') segments.push(segment)
  }
  return `/${segments.join('/')}`
}

/** Percent-decodes what can be decoded, and leaves the rest as it is. */
function decode(text: string): string {
  return text.replaceAll(/(?:%[0-9a-f]{2})+/gi, (encoded) =>
    Buffer.from(encoded.replaceAll('%', ''), 'hex').toString('utf8'),
  )
}

function perSegment(path: string): string {
  return path.split('/').map(decode).join('/')
}

function matches(methods: ReadonlySet<string>, path: string, parameters: Parameters): Reading[] {
  const segments = path.replace(/\/$/, '').split('/')
  return operations.flatMap((operation) => {
    const pattern = operation.path.split('/')
    const fits =
      pattern.length === segments.length &&
      pattern.every((part, index) => part.startsWith('{') || part === segments[index]?.toLowerCase())
    // All of them that are read with POST are also read with GET by somebody, and none the other way round.
    if (!fits || !(methods.has(operation.method) || methods.has('GET'))) return []
    const location = pattern.indexOf('{id}')
    const texts = location === -1 ? [] : [segments[location] ?? '', ...parameters.get('id')]
    const ids = location === -1 ? [[]] : texts.flatMap((text) => idsIn(text, parameters.get('delimiter')))
    return ids.map((id) => ({ operation: operation.name, id }))
  })
}

function idsIn(text: string, sent: readonly string[]): string[][] {
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

/** The values of a parameter, in any case, however the pairs are separated. */
function parametersOf(query: string): Parameters {
  const pairs = query.split(/[&;]/).map((pair) => {
    const [name = '', ...value] = pair.split('=')
    return [decode(name).toLowerCase(), decode(value.join('=').replaceAll('+', ' '))] as const
  })
  return { get: (name) => pairs.filter(([own]) => own === name).map(([, value]) => value) }
}
