import { dialects } from '../interface/headers.ts'
import type { Identifier } from '../interface/identifiers.ts'
import type { OperationFacts, RequestFacts } from '../policy/question.ts'
import { destinationOf, stringMember, type Members } from './body/body-facts.ts'
import { modeName } from './route-facts.ts'
import type { Matched } from './stages.ts'

/** What the head of a request says to the conditions of policies, found out only where one asks. */
export function requestFacts(request: Matched, now: Date): RequestFacts {
  return new HeadFacts(request, now)
}

/** What an operation says of itself, where its head tells; undefined where its body may say something, too. */
export function earlyFacts(request: Matched): OperationFacts | undefined {
  const { body } = request.meaning.operation
  return request.hasBody && (body === 'json' || body === 'none') ? undefined : wholeFacts(request, {})
}

/** What an operation says of itself, in its head and the members of its body. */
export function wholeFacts({ meaning, headers }: Matched, members: Members): OperationFacts {
  const { operation, id, parameters } = meaning
  return new FoundFacts(operation.name, operation.object, id, {
    text(name) {
      const parameter = parameters.get(name)
      return typeof parameter === 'string' ? parameter : stringMember(members, name)
    },
    header: (name) => headerIn(headers, name),
    members,
  })
}

/** What an operation inside a batch says of itself: only what stands in its own entry. */
export function entryFacts(id: Identifier, entry: Members): OperationFacts {
  return new FoundFacts('', 'table', id, {
    text: (name) => stringMember(entry, name),
    header: () => undefined,
    members: entry,
  })
}

/** Where the facts of an operation are found. */
interface FactSource {
  /** A query parameter, or else a member. */
  readonly text: (name: string) => string | undefined
  readonly header: (name: string) => string | undefined
  readonly members: Members
}

/** A class, as the next: an object with getters of its own takes microseconds to make, and each request has these. */
class HeadFacts implements RequestFacts {
  readonly clientAddress: string
  readonly now: Date
  readonly #headers: readonly string[]
  #context: ReadonlyMap<string, string> | undefined

  constructor({ client, headers }: Matched, now: Date) {
    this.clientAddress = mappedAddress.test(client) ? client.slice('::ffff:'.length) : client
    this.now = now
    this.#headers = headers
  }

  get context(): ReadonlyMap<string, string> {
    return (this.#context ??= contextIn(this.#headers))
  }
}

const mappedAddress = /^::ffff:\d+\.\d+\.\d+\.\d+$/i

class FoundFacts implements OperationFacts {
  readonly #operation: string
  readonly #object: string
  readonly #id: Identifier
  readonly #source: FactSource

  constructor(operation: string, object: string, id: Identifier, source: FactSource) {
    this.#operation = operation
    this.#object = object
    this.#id = id
    this.#source = source
  }

  get mode(): string {
    return modeName(this.#text('mode') ?? '')
  }

  get behavior(): string {
    return modeName(this.#text('behavior') ?? '')
  }

  get branch(): string {
    if (this.#operation.endsWith('TableBranch')) return this.#text('name') ?? ''
    const branch = agreed(this.#text('branch'), nestedBranch(this.#source.members)) ?? ''
    const hasBranches = this.#object === 'table' || this.#object === 'materialized_view'
    return branch === '' && hasBranches ? 'main' : branch
  }

  get tag(): string {
    return this.#text('tag') ?? ''
  }

  get destination(): Identifier {
    return this.#operation === 'RenameTable' ? destinationOf(this.#source.members, this.#id) : []
  }

  get manifestPath(): string {
    return this.#text('manifest_path') ?? ''
  }

  get location(): string {
    return agreed(this.#source.header(dialects.catalog.location), this.#text('location')) ?? ''
  }

  get metadata(): ReadonlyMap<string, string> {
    return textsIn(this.#source.members['metadata'])
  }

  get properties(): ReadonlyMap<string, string> {
    const { header, members } = this.#source
    const outside = agreed(header(dialects.catalog.properties), this.#text('properties'))
    return textsIn(outside === undefined ? members['properties'] : JSON.parse(outside))
  }

  #text(name: string): string | undefined {
    return this.#source.text(name)
  }
}

/** ExplainTableQueryPlan holds the query in a member of its own. */
function nestedBranch({ query }: Members): string | undefined {
  return typeof query === 'object' && query !== null ? stringMember(query as Members, 'branch') : undefined
}

/** What is said in two places, where both say the same. */
function agreed(one: string | undefined, other: string | undefined): string | undefined {
  if (one !== undefined && other !== undefined && one !== other) throw new Error('two places differ')
  return one ?? other
}

function textsIn(value: unknown): ReadonlyMap<string, string> {
  const entries = value === undefined || value === null ? [] : Object.entries(value)
  if (typeof value === 'string' || !entries.every(([, text]) => typeof text === 'string')) {
    throw new Error('not an object of texts')
  }
  return new Map(entries as [string, string][])
}

function contextIn(headers: readonly string[]): ReadonlyMap<string, string> {
  const { context } = dialects.catalog
  const entries = new Map<string, string>()
  for (let index = 0; index < headers.length; index += 2) {
    const name = headers[index] ?? ''
    if (name.startsWith(context)) entries.set(name.slice(context.length), headers[index + 1] ?? '')
  }
  return entries
}

function headerIn(headers: readonly string[], name: string): string | undefined {
  for (let index = 0; index < headers.length; index += 2) {
    if (headers[index] === name) return headers[index + 1]
  }
  return undefined
}
