import type { WrittenCommits, WrittenPolicy, WrittenRule } from '../../policy/policy-builder.ts'

const subjects = { users: ['ci'] }

export function createAllowPolicy(namespace: string, when?: string): WrittenPolicy {
  return policyOf(namespace, [
    { id: 'all', effect: 'allow', subjects, operations: ['all'], ...(when && { when }) },
  ])
}

export function createRequirePolicy(namespace: string, commits: WrittenCommits): WrittenPolicy {
  return { ...createAllowPolicy(namespace), commits }
}

/** Denies everyone changes under a condition, such as of branches other than those of `ci`. */
export function createChangePolicy(
  namespace: string,
  when = changesOtherBranches,
  except?: WrittenRule['subjects']['except'],
): WrittenPolicy {
  const policy = createAllowPolicy(namespace)
  const subjects = { everyone: true, ...(except && { except }) } as const
  const deny: WrittenRule = { id: 'changes', effect: 'deny', subjects, operations: ['change'], when }
  return { ...policy, rules: [...policy.rules, deny] }
}

/** As documented in policies/README.md: what has no branch is left, and an unknown branch is denied. */
const changesOtherBranches = 'branch != "" && !branch.like("ci/*")'

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
