import type { Details, IntentEntry } from '../audit/records.ts'
import { anonymousPrincipal } from '../identity/principal.ts'
import type { Identifier } from '../interface/identifiers.ts'
import type { ObjectKind } from '../interface/operations.ts'
import type { Permission } from '../interface/permissions.ts'
import type { Condition } from './condition.ts'
import type { Truth } from './decision-logic.ts'
import type { Inquiry, OperationFacts } from './question.ts'

/** What an audit record tells of a question to the policies. */
export interface RecordedQuestion extends Pick<IntentEntry, 'principal' | 'client'> {
  /** Undefined where they were not recorded. */
  readonly details: Details | undefined
  readonly permission: Permission
  readonly kind: ObjectKind
  readonly id: Identifier
  readonly time: string
  readonly groups: { readonly groups: ReadonlySet<string>; readonly isComplete: boolean }
}

/** A condition asked for what the record does not hold. */
const notRecorded = new Error('not in the audit log')

function unrecorded(): never {
  throw notRecorded
}

/**
 * Tells what conditions come to for a recorded question; undefined where one asks for what was not recorded. The
 * time of the question is the time of its record.
 */
export function recordedTruth(recorded: RecordedQuestion): (condition: Condition) => Truth | undefined {
  const inquiry = inquiryOf(recorded)
  return (condition) => {
    try {
      return condition.holds(inquiry) ? 'true' : 'false'
    } catch (error) {
      return error === notRecorded ? undefined : 'failed'
    }
  }
}

function inquiryOf({
  principal,
  client,
  details,
  permission,
  kind,
  id,
  time,
  groups,
}: RecordedQuestion): Inquiry {
  const { issuer } = principal
  return {
    permission,
    kind,
    id,
    get principal() {
      if (principal.method === 'anonymous') return anonymousPrincipal
      // The claims of a token are not recorded; an API key has none.
      if (!groups.isComplete || principal.method !== 'api-key') return unrecorded()
      return { ...principal, groups: groups.groups, ...(issuer !== undefined && { issuer }) }
    },
    request: {
      clientAddress: client.replace(/^::ffff:(?=\d+\.)/i, ''),
      now: new Date(time),
      get context() {
        return unrecorded()
      },
    },
    operation: factsOf(details, permission, kind),
  }
}

/** Texts that were cut are not what was sent. */
const cutAt = 1024

function factsOf(details: Details | undefined, permission: Permission, kind: ObjectKind): OperationFacts {
  const text = (name: string): string => {
    const value = details?.[name]
    if (details === undefined || (typeof value === 'string' && value.length > cutAt)) return unrecorded()
    return typeof value === 'string' ? value : ''
  }
  const word = (name: string): string => text(name).replaceAll('_', '').toLowerCase()
  return {
    get mode() {
      return word('mode')
    },
    get behavior() {
      return word('behavior')
    },
    get branch() {
      if (permission.endsWith('TableBranch')) return text('name')
      const branch = text('branch')
      return branch === '' && kind === 'table' ? 'main' : branch
    },
    get tag() {
      return text('tag')
    },
    get destination() {
      return unrecorded()
    },
    get location() {
      // A header may have said it.
      return text('location') || unrecorded()
    },
    get manifestPath() {
      return text('manifest_path')
    },
    get metadata() {
      return unrecorded()
    },
    get properties() {
      return unrecorded()
    },
  }
}
