import type { Condition } from './condition.ts'
import { about, type Finding } from './finding.ts'
import type { PolicyDocument, PolicyRule } from './policy-document.ts'
import type { Permission } from '../interface/permissions.ts'
import type { Inquiry } from './question.ts'

/** Conditions that come to the same whatever is asked: the rule always applies, or never. */
export function lintConditions(documents: readonly PolicyDocument[]): readonly Finding[] {
  return documents.flatMap((document) =>
    document.rules.flatMap((rule) => {
      const { condition } = rule
      if (condition === undefined) return []
      const results = new Set([...rule.permissions].map((permission) => constantOf(condition, permission)))
      const [result] = results
      if (results.size !== 1 || result === undefined) return []
      return [findingOf(document, rule, result)]
    }),
  )
}

type Constant = 'true' | 'false' | 'failed'

function findingOf(document: PolicyDocument, rule: PolicyRule, result: Constant): Finding {
  if (result === 'true') {
    return about(
      document,
      rule,
      'warning',
      'condition',
      'has a condition that is always true; leave "when" out',
    )
  }
  const never = result === 'false' || rule.effect === 'allow'
  const how = result === 'false' ? 'always false' : 'never to be told'
  const effect = never ? 'so it never applies' : 'so it always applies'
  return about(document, rule, 'error', 'condition', `has a condition that is ${how}, ${effect}`)
}

/** What the condition comes to for the operation; undefined where it depends on more than that. */
function constantOf(condition: Condition, permission: Permission): Constant | undefined {
  const unknown = new Error('the condition depends on the question')
  const ask = (): never => {
    throw unknown
  }
  const inquiry: Inquiry = {
    permission,
    get principal() {
      return ask()
    },
    get request() {
      return ask()
    },
    get operation() {
      return ask()
    },
    get kind() {
      return ask()
    },
    get id() {
      return ask()
    },
  }
  try {
    return condition.holds(inquiry) ? 'true' : 'false'
  } catch (error) {
    return error === unknown ? undefined : 'failed'
  }
}
