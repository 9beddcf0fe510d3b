import type { WrittenPolicy, WrittenRequirement, WrittenRule } from '../../policy/policy-builder.ts'

const subjects = { users: ['ci'] }

export function createAllowPolicy(namespace: string, when?: string): WrittenPolicy {
  return policyOf(namespace, [
    { id: 'all', effect: 'allow', subjects, operations: ['all'], ...(when && { when }) },
  ])
}

export function createRequirePolicy(
  namespace: string,
  requirement: Partial<WrittenRequirement>,
): WrittenPolicy {
  return { ...createAllowPolicy(namespace), commits: { require: [{ id: 'requirement', ...requirement }] } }
}

/** Allows `ci` everything in the namespace except these operations, optionally under a condition. */
export function createDenyPolicy(
  namespace: string,
  operations: readonly string[],
  when?: string,
): WrittenPolicy {
  const { rules } = createAllowPolicy(namespace)
  const deny: WrittenRule = { id: 'no', effect: 'deny', subjects, operations, ...(when && { when }) }
  return policyOf(namespace, [...rules, deny])
}

function policyOf(namespace: string, rules: readonly WrittenRule[]): WrittenPolicy {
  return { name: namespace, namespace: [namespace], onDeny: 403, rules }
}
