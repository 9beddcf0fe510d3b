import type { Random } from './random.ts'

/** The only namespace that the attacker may access. */
export const allowedNamespace = 'sandbox'

/** A table that the attacker may read in part. */
export const restrictedTable = [allowedNamespace, 'people'] as const

/** The part, as the policy and the upstream have it. */
export const visiblePart = { columns: { id: 'number' }, rows: 'id < 2', sentRows: '(`id` < 2)' } as const

/** A forbidden table that attacks name. */
export const forbiddenTable = ['production', 'orders'] as const

/** Names of forbidden objects that no request contains: no response may contain them. */
export const secrets = {
  table: 'hidden_7c1e5ab2',
  namespace: 'unseen_93d04f6e',
} as const

/** Picks an id that the attacker may access, sometimes with an unusual name. */
export function pickAllowedId(random: Random, kind: string): readonly string[] {
  if (kind === 'namespace')
    return random.pick([[allowedNamespace], [allowedNamespace, 'inner'], [allowedNamespace, 'n']])
  if (random.chance(0.05)) return restrictedTable
  const name = random.chance(0.7) ? random.pick(['orders', 'events']) : random.pick(unusualNames)
  return random.chance(0.8) ? [allowedNamespace, name] : [allowedNamespace, 'inner', name]
}

/** Picks an id that the attacker may not access, for example the root. */
export function pickForbiddenId(random: Random, kind: string): readonly string[] {
  if (kind === 'namespace') return random.pick([[], ['production'], ['production', 'inner'], ['Sandbox']])
  return random.pick([
    forbiddenTable,
    ['production', 'inner', 'orders'],
    ['orders'],
    ['SANDBOX', 'orders'],
    ['sandbox ', 'orders'],
  ])
}

const unusualNames = [
  'a b',
  'a+b',
  'a.b',
  'a;b',
  'a:b@c',
  'ä',
  'ﬁ＄',
  '...',
  '~',
  'version',
  'index',
  'list',
  'x!*()',
  '\u{1f600}',
  '-',
  'a&b=c',
  '__proto__',
]
