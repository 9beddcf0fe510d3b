import {
  canonicalizeBranch,
  canonicalizeWord,
  omitUndefinedFacts,
  type FactName,
  type StatedFacts,
} from '../../catalog-api/facts.ts'
import type { Identifier } from '../../catalog-api/identifiers.ts'
import type { Operation } from '../../catalog-api/operations.ts'
import { permissionNames, type Permission } from '../../catalog-api/permissions.ts'
import { factsStatedFor, operationsStating } from '../conditions/permission-facts.ts'
import { describePermissionSet } from './policy-vocabulary.ts'
import type { ConditionFact } from '../conditions/authorization-request.ts'

/** Facts as people write them for one request, in tests and arguments. */
type WrittenFacts = {
  readonly [Fact in ConditionFact]?:
    | (Fact extends 'destination' ? Identifier : StatedFacts[Fact & FactName])
    | undefined
}

/** Returns the facts in the form in which the gateway decides on them. */
export function createStatedFacts({ destination, ...facts }: WrittenFacts): StatedFacts {
  const { mode, behavior, branch } = facts
  return omitUndefinedFacts({
    ...facts,
    mode: mode === undefined ? undefined : canonicalizeWord(mode),
    behavior: behavior === undefined ? undefined : canonicalizeWord(behavior),
    branch: branch === undefined ? undefined : canonicalizeBranch(branch),
    newNamespace: destination?.slice(0, -1),
    newName: destination?.at(-1),
  })
}

/**
 * Describes why no request for any of the permissions states the fact, and which permissions have it, or that none has this
 * word as its mode or behavior; undefined if one does.
 */
export function describeUnstatedFact(
  fact: ConditionFact,
  text: string | undefined,
  permissions: ReadonlySet<Permission>,
): string | undefined {
  const stated = new Set([...permissions].flatMap((permission) => [...factsStatedFor(permission)]))
  if (stated.has(fact)) return text === undefined ? undefined : describeUnknownWord(fact, text, permissions)
  const others = new Set(permissionNames.filter((permission) => factsStatedFor(permission).has(fact)))
  const own = stated.size === 0 ? 'no facts' : [...stated].join(', ')
  return `requests for ${describePermissionSet(permissions)} state ${own}; "${fact}" is stated for ${describePermissionSet(others)}`
}

const wordLists: { readonly [Fact in ConditionFact]?: (operation: Operation) => readonly string[] } = {
  mode: ({ modes }) => modes,
  behavior: ({ behaviors }) => behaviors,
}

/** The gateway refuses other words. */
function describeUnknownWord(
  fact: ConditionFact,
  text: string,
  permissions: ReadonlySet<Permission>,
): string | undefined {
  const list = wordLists[fact]
  if (list === undefined) return undefined
  const operations = [...permissions].flatMap(operationsStating)
  const known = new Set(operations.flatMap(list).map(canonicalizeWord))
  if (known.has(canonicalizeWord(text))) return undefined
  return `${JSON.stringify(text)} is not a ${fact} of ${describePermissionSet(permissions)}; expected one of ${[...known].join(', ')}`
}
