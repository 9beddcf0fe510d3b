import {
  separators,
  dots,
  forbiddenSuffixes,
  oddSequences,
  delimiters,
  methods,
  versions,
  origins,
  words,
} from './target-dictionary.ts'
import { encodeId } from './valid-requests.ts'
import { pickForbiddenId } from './test-objects.ts'
import type { Random } from './random.ts'
import type { RequestDraft } from './request-draft.ts'

type Mutation = (draft: RequestDraft, random: Random) => Partial<RequestDraft>

/** Applies one mutation to method, target or version that some routers interpret differently. */
export function mutateTarget(draft: RequestDraft, random: Random): RequestDraft {
  return { ...draft, ...random.pick(mutations)(draft, random) }
}

const parameters = [
  ...words('id=production$orders mode=overwrite mode=Overwrite mode=over%77rite m%6fde=overwrite'),
  ...words('MODE=overwrite mode= branch=../main branch=a _method=DELETE limit = & limit=+1 limit=1e1'),
  ...words('limit=-1 limit=99999999999 limit=%31 page_token=%00 page_token=a+b include_declared=TRUE'),
  ...words('on=a storage_options=%7B%7D properties=%7B%7D x_api_key=k api_key=k access_token=k'),
  ...words('__proto__=1 a=b;limit=2'),
  '',
]
const paths = [
  ...words('/ * /v1 /v1/ /livez /metrics /openapi.json/ /v1/table/ /v1/namespace//list /admin v1/table'),
  '',
]

const mutations: readonly Mutation[] = [
  // Percent-encoding and letter case.
  ({ path }, random) => edit(path, random, (character) => percentEncode(character, random)),
  ({ path }, random) =>
    edit(path, random, (character) => percentEncode(character, random).replace('%', '%25')),
  ({ path }) => ({ path: [...Buffer.from(path)].map((byte) => (byte === 0x2f ? '/' : hex(byte))).join('') }),
  ({ path }, random) => edit(path, random, (character) => swapCase(character)),
  ({ path }, random) => ({ path: random.chance(0.5) ? path.toUpperCase() : path.replace('/v1', '/V1') }),
  // Separators, dot segments and characters within segments.
  ({ path }, random) => {
    const slashes = [...path.matchAll(/\//g)].map(({ index }) => index)
    if (slashes.length === 0) return {}
    const at = random.pick(slashes)
    return { path: path.slice(0, at) + random.pick(separators) + path.slice(at + 1) }
  },
  ({ path }, random) =>
    atSegment(path, random, (rest) => `${random.pick(dots)}${random.pick(separators)}${rest}`),
  ({ path }, random) =>
    atSegment(path, random, (rest) => {
      const detour = random.pick(separators) + random.pick(dots) + random.pick(separators)
      return `x${detour}${random.pick(forbiddenSuffixes)}${random.pick(separators)}${rest}`
    }),
  ({ path }, random) => edit(path, random, (character) => character + random.pick(oddSequences)),
  ({ path }, random) => ({
    path: path + random.pick(['/', '//', '/.', '/..', '%2F', '\\', ';', '/;a=b', '?', '.json', '%20', '/x']),
  }),
  ({ path }, random) => ({ path: insertByte(path, random) }),
  // Ids and delimiters.
  ({ path, operation }, random) => {
    const id = encodeId(pickForbiddenId(random, operation.object))
    return {
      path: path.replace(/(?<=^\/v1\/[a-z_]+\/)[^/]+/, (segment) =>
        random.pick([
          id,
          `${segment}$${id}`,
          `${segment}%2F..%2F${id}`,
          `${segment};${id}`,
          `${id}%00${segment}`,
        ]),
      ),
    }
  },
  ({ path, query, id }, random) => {
    const delimiter = random.pick(delimiters)
    const text = encodeId(id, '\n').replaceAll('%0A', delimiter)
    const name = random.pick([
      'delimiter',
      'delimiter',
      'delimiter',
      'Delimiter',
      '%64elimiter',
      'delimiter%00',
      'delimiter[]',
      ' delimiter',
    ])
    return { path: path.replace(encodeId(id), () => text), query: [...query, `${name}=${delimiter}`] }
  },
  ({ query }, random) => ({
    query: [...query, `delimiter=${random.pick(delimiters)}`, `delimiter=${random.pick(delimiters)}`],
  }),
  ({ query }, random) => ({
    query: [...query, `delimiter=${random.text(1 + random.below(17), '$.:-_ab~')}`],
  }),
  // Query parameters.
  ({ query }, random) => ({
    query: [...query, ...(query.length > 0 ? [random.pick(query)] : ['limit=1', 'limit=2'])],
  }),
  ({ query }, random) => ({
    query: [...query, random.pick(parameters)],
  }),
  ({ query }, random) => ({
    query: [query.join(random.pick([';', '&amp;', '&&', '?', '%26', '&#38;', '\x00']))],
  }),
  // Other request targets, methods and versions.
  ({ path }, random) => ({ path: random.pick(origins) + path }),
  ({ path }, random) => ({ path: `${path}#${random.pick(['', 'x', '/../drop', '?delimiter=.'])}` }),
  ({ path }, random) => ({
    path: path.replace(
      /[^/]+(?=\/[^/]*$)/,
      (segment) => segment + 'x'.repeat(random.pick([500, 4_100, 9_000, 40_000])),
    ),
  }),
  (_draft, random) => ({ path: random.pick(paths) }),
  (_draft, random) => ({ method: random.pick(methods) }),
  (_draft, random) => ({ version: random.pick(versions) }),
]

function edit(path: string, random: Random, change: (character: string) => string): { path: string } {
  const at = 1 + random.below(Math.max(1, path.length - 1))
  return { path: path.slice(0, at) + change(path.charAt(at)) + path.slice(at + 1) }
}

function atSegment(path: string, random: Random, change: (rest: string) => string): { path: string } {
  const segments = path.split('/')
  const at = 1 + random.below(segments.length - 1)
  return { path: [...segments.slice(0, at), change(segments.slice(at).join('/'))].join('/') }
}

function insertByte(path: string, random: Random): string {
  const at = random.below(path.length + 1)
  return path.slice(0, at) + String.fromCharCode(random.below(256)) + path.slice(at)
}

function percentEncode(character: string, random: Random): string {
  const text = [...Buffer.from(character)].map(hex).join('')
  return random.chance(0.5) ? text : text.toLowerCase()
}

function swapCase(character: string): string {
  const upper = character.toUpperCase()
  return character === upper ? character.toLowerCase() : upper
}

function hex(byte: number): string {
  return `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
}
