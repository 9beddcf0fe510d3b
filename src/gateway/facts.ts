import { dialects } from '../interface/headers.ts'
import type { Identifier } from '../interface/identifiers.ts'
import type { OperationFacts, RequestFacts } from '../policy/question.ts'
import { destinationOf, stringMember, type Members } from './body-facts.ts'
import { modeName } from './route-facts.ts'
import type { Matched } from './stages.ts'

/** What the head of a request says to the conditions of policies, found out only where one asks. */
export function requestFacts({ client, headers }: Matched, now: Date): RequestFacts {
  let context: ReadonlyMap<string, string> | undefined
  return {
    clientAddress: /^::ffff:\d+\.\d+\.\d+\.\d+$/i.test(client) ? client.slice('::ffff:'.length) : client,
    now,
    get context() {
      return (context ??= contextIn(headers))
    },
  }
}

/** What an operation says of itself, where its head tells; undefined where its body may say something, too. */
export function earlyFacts(request: Matched): OperationFacts | undefined {
  const { body } = request.meaning.operation
  return request.hasBody && (body === 'json' || body === 'none') ? undefined : wholeFacts(request, {})
}

/** What an operation says of itself, in its head and the members of its body. */
export function wholeFacts({ meaning, headers }: Matched, members: Members): OperationFacts {
  const { operation, id, parameters } = meaning
  return factsOf(operation.name, operation.object, id, {
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
  return factsOf('', 'table', id, {
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

function factsOf(
  operation: string,
  object: string,
  id: Identifier,
  { text, header, members }: FactSource,
): OperationFacts {
  return {
    get mode() {
      return modeName(text('mode') ?? '')
    },
    get behavior() {
      return modeName(text('behavior') ?? '')
    },
    get branch() {
      if (operation.endsWith('TableBranch')) return text('name') ?? ''
      const branch = agreed(text('branch'), nestedBranch(members)) ?? ''
      return branch === '' && (object === 'table' || object === 'materialized_view') ? 'main' : branch
    },
    get tag() {
      return text('tag') ?? ''
    },
    get destination() {
      return operation === 'RenameTable' ? destinationOf(members, id) : []
    },
    get manifestPath() {
      return text('manifest_path') ?? ''
    },
    get location() {
      return agreed(header(dialects.catalog.location), text('location')) ?? ''
    },
    get metadata() {
      return textsIn(members['metadata'])
    },
    get properties() {
      const outside = agreed(header(dialects.catalog.properties), text('properties'))
      return textsIn(outside === undefined ? members['properties'] : JSON.parse(outside))
    },
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
