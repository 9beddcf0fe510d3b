import { isDecisive } from '../../interface/decisive-names.ts'
import { refusal, type InterfaceError } from '../../interface/errors.ts'
import { show } from '../../interface/identifiers.ts'
import type { Operation } from '../../interface/operations.ts'
import type { Members } from '../facts/read-facts.ts'
import { detailMembers, isFilter } from '../changes/commit-details.ts'
import type { Matched } from '../context.ts'
import { assertQueryName, judgeMember, judgeQueryMember } from './agreement.ts'
import { isOverruled } from './body-context.ts'
import { parseExactJson } from './exact-json.ts'
import { WatchedJson, type Interest, type JsonWatcher, type MemberTarget } from './json-watch.ts'
import { assertSpelling } from './spelling.ts'
import { watchMap } from './wrapped-map.ts'

/** A JSON body that is judged chunk by chunk. */
export interface BodyJudge {
  /** Refuses what no two readers may read differently, and each member as soon as it contradicts the route. */
  readonly text: WatchedJson
  /** The members read so far: all but `identity`, or those that repeat the route, state facts or are recorded. */
  readonly members: Members
  /** The object `query` in the body, once a member of it was read. */
  queryObject(): MemberTarget | undefined
  /** The intent was made of the members read so far: a further one that belongs into it is refused. */
  closeIntent(): void
}

/** How a body is judged. */
interface JudgeOptions {
  /** Whether all members are kept, since they may decide. */
  readonly keepsAll: boolean
  /** Whether SQL filters are kept for the intent: only of a body that is judged whole, since they may be as large. */
  readonly keepsFilters: boolean
  /** The most bytes of a value that is kept. */
  readonly maximumValueBytes: number
}

/** Begins to judge a body. */
export function judgeBody(request: Matched, options: JudgeOptions): BodyJudge {
  const { operation } = request.route
  // Without a prototype: `__proto__` is a name like any other.
  const members = Object.create(null) as Record<string, unknown>
  let hasIntent = false
  let query: MemberTarget | undefined
  const found: Found = (name, value) => {
    const isLate = hasIntent && operation.effect !== 'read' && detailMembers(operation).has(name)
    if (isLate) throw tooLate(name)
    members[name] = value
  }
  const watcher: JsonWatcher =
    operation.body === 'map'
      ? watchMap(request, found)
      : watchMembers(request, options, found, (object) => (query ??= object))
  return {
    text: new WatchedJson(watcher, options.maximumValueBytes),
    members,
    queryObject: () => query,
    closeIntent() {
      hasIntent = true
    },
  }
}

type Found = (name: string, value: unknown) => void

function watchMembers(
  request: Matched,
  { keepsAll, keepsFilters }: JudgeOptions,
  found: Found,
  foundQuery: (object: MemberTarget) => void,
): JsonWatcher {
  const { operation, parameters } = request.route
  const recorded = detailMembers(operation)
  const { emptyIsAbsent } = operation
  const holdsOptional = parentsOf(operation)
  /** The names of the open members by their depth; a level that is a list has none. */
  const path: string[] = []

  function interestInBody(name: string): Interest {
    assertSpelling(name)
    if (name === 'identity') return 'removal'
    if (name === 'context') return 'both'
    if (keepsAll) return 'both'
    if (isFilter(name) && !keepsFilters) return 'nothing'
    const isWanted =
      name === 'id' || name === 'index_name' || isDecisive(name) || recorded.has(name) || parameters.has(name)
    if (isWanted) return 'value'
    return holdsOptional.has(name) || name === 'query' ? 'members' : 'nothing'
  }

  return {
    name(name, depth, object) {
      path.length = depth
      path[depth] = name
      if (depth === 1) return interestInBody(name)
      const [, parent] = path
      if (depth === 2 && parent === 'context') return isOverruled(name, request) ? 'removal' : 'nothing'
      if (depth === 2 && parent === 'query') {
        foundQuery(object)
        return interestInQuery(name)
      }
      return parent !== undefined && holdsOptional.has(parent) ? 'members' : 'nothing'
    },
    emptyIsAbsent: (name, depth) =>
      depth === 1
        ? emptyIsAbsent.has(name)
        : holdsOptional.has(path[1] ?? '') &&
          emptyIsAbsent.has(path.filter((part) => part !== undefined).join('.')),
    value(text, name, depth) {
      if (depth > 1) {
        judgeQueryMember(request, name, JSON.parse(text))
        return undefined
      }
      const value: unknown = holdsNumbers(operation, name) ? parseExactJson(text) : JSON.parse(text)
      const replacement = judgeMember(request, name, value)
      found(name, replacement === undefined ? value : JSON.parse(replacement))
      return replacement
    },
  }
}

/** Whether the intent holds what numbers stand in that member. */
function holdsNumbers({ recorded, entries }: Operation, name: string): boolean {
  return recorded.includes(name) || entries?.member === name
}

const parents = new WeakMap<Operation, ReadonlySet<string>>()

/** The members of a body that hold members which count as not sent if they are empty. */
function parentsOf(operation: Operation): ReadonlySet<string> {
  let names = parents.get(operation)
  if (names === undefined) {
    const nested = [...operation.emptyIsAbsent].filter((path) => path.includes('.'))
    parents.set(operation, (names = new Set(nested.map((path) => path.split('.')[0] ?? ''))))
  }
  return names
}

function interestInQuery(name: string): Interest {
  assertQueryName(name)
  return name === 'id' || name === 'context' || isDecisive(name) ? 'value' : 'members'
}

function tooLate(name: string): InterfaceError {
  return refusal(
    'invalid_body',
    `${show(name)} stands too far behind in a body of this size; expected it before the members that are large`,
  )
}
