import { invalidInput, type InterfaceError } from '../../interface/errors.ts'
import { show } from '../../interface/identifiers.ts'
import { assertAgreement, assertQueryAgreement } from './agreement.ts'
import { isOverruled } from './body-context.ts'
import { referenceMembers, type Members } from './body-facts.ts'
import { recordedMembers } from '../changes/commit-details.ts'
import { filterMembers } from '../../audit/redaction.ts'
import { WatchedJson, type Interest, type JsonWatcher } from './json-watch.ts'
import { assertSpelling } from './spelling.ts'
import type { Matched } from '../stages.ts'
import { watchMap } from './wrapped-map.ts'

/** A JSON body under judgement, piece by piece. */
export interface BodyJudge {
  /** Refuses what no two readers may read differently, and each member as soon as it contradicts the route. */
  readonly text: WatchedJson
  /** The members read so far: all but `identity`, or those that repeat the route or go into the intent of a change. */
  readonly members: Members
  /** The intent has been made of the members read so far: a further one that belongs into it is refused. */
  closeIntent(): void
}

/** How a body is judged. */
interface JudgeOptions {
  /** Whether all members are kept, for they may decide. */
  readonly keepsAll: boolean
  /** Whether SQL filters are kept for the intent: only of a body that is judged whole, as they may be as large. */
  readonly keepsFilters: boolean
  /** The most bytes of a value that is kept. */
  readonly maximumValueBytes: number
}

/** Members of the envelope of every JSON body. */
const envelope: ReadonlySet<string> = new Set(['id', 'index_name', 'context'])

const sqlMembers: ReadonlySet<string> = new Set(filterMembers)

/** Begins to judge a body. The members of a bare map are the data of the caller, and none of them is kept. */
export function judgeBody(request: Matched, options: JudgeOptions): BodyJudge {
  const { maximumValueBytes } = options
  const { operation } = request.meaning
  // Without a prototype: `__proto__` is a name like any other.
  const members = Object.create(null) as Record<string, unknown>
  let hasIntent = false
  const found: Found = (name, value) => {
    if (hasIntent && operation.effect !== 'read' && recordedMembers.has(name)) throw tooLate(name)
    members[name] = value
  }
  const watcher: JsonWatcher =
    operation.body === 'map' ? watchMap(request) : watchMembers(request, options, found)
  return {
    text: new WatchedJson(watcher, maximumValueBytes),
    members,
    closeIntent() {
      hasIntent = true
    },
  }
}

type Found = (name: string, value: unknown) => void

function watchMembers(request: Matched, options: JudgeOptions, found: Found): JsonWatcher {
  /** The member of the body that is open, where what is within it matters. */
  let parent = ''
  return {
    name(name, depth) {
      if (depth > 2) return 'nothing'
      if (depth === 2) return parent === 'context' ? interestInContext(request, name) : interestInQuery(name)
      parent = name
      return interestIn(request, name, options)
    },
    value(text, name, depth) {
      const value: unknown = JSON.parse(text)
      if (depth === 1) {
        assertAgreement(request, name, value)
        found(name, value)
      } else {
        assertQueryAgreement(request, name, value)
      }
    },
  }
}

function interestIn({ meaning }: Matched, name: string, { keepsAll, keepsFilters }: JudgeOptions): Interest {
  assertSpelling(name)
  if (name === 'identity') return 'removal'
  if (name === 'context') return 'both'
  if (name === 'query') return keepsAll ? 'both' : 'members'
  const isWanted =
    keepsAll ||
    envelope.has(name) ||
    referenceMembers.has(name) ||
    recordedMembers.has(name) ||
    (keepsFilters && sqlMembers.has(name)) ||
    meaning.parameters.has(name)
  return isWanted ? 'value' : 'nothing'
}

/** Headers win: what they say too goes no further. */
function interestInContext(request: Matched, key: string): Interest {
  return isOverruled(key, request) ? 'removal' : 'nothing'
}

function interestInQuery(name: string): Interest {
  assertSpelling(name)
  if (name === 'identity') throw invalidInput('"query.identity" is not accepted; send it as headers')
  return name === 'id' || name === 'context' || referenceMembers.has(name) ? 'value' : 'nothing'
}

function tooLate(name: string): InterfaceError {
  return invalidInput(
    `${show(name)} stands too far behind in a body of this size; expected it before the members that are large`,
  )
}
