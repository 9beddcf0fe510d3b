import type { Operation } from '../operations.ts'
import { getRequirements, type Requirement } from '../requirements.ts'

/** The permissions of the operation, from the facts by which the gateway decides. */
export function describeNeeds(operation: Operation): string {
  const { name, group } = operation
  const own = `Needs the permission ${name}, ${group === undefined ? 'of no group' : `of the group ${group}`}.`
  const further = getRequirements(operation).map(describeRequirement)
  return further.length === 0 ? own : [own, '', ...further.map((text) => `- ${text}`)].join('\n')
}

function describeRequirement({ permission, on, when, requiredBy, isWithheld }: Requirement): string {
  const text = `${permission} on ${describeTarget(on)}`
  if (isWithheld) return `For ${requiredBy}: ${text}; without it the response has no credentials.`
  return when === undefined ? `Also ${text} (${requiredBy}).` : `For ${requiredBy}: ${text}.`
}

function describeTarget(on: Requirement['on']): string {
  if (typeof on === 'object') return 'the object that the body names'
  return requirementTargets[on]
}

const requirementTargets = {
  itself: 'the same object',
  beneath: 'everything beneath it',
  'source branch': 'the branch that it is made from',
  destination: 'the new id',
  root: 'the root',
} as const
