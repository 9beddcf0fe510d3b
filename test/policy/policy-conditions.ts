import {
  type AuthorizationRequest,
  pending,
  unknown,
} from '../../src/policy/conditions/authorization-request.ts'

/** Outcome of a condition. An error and `unknown` are decided against the caller, `pending` by the assumption. */
type Outcome = boolean | 'error' | 'pending'

/** A reference implementation of a condition, without CEL. */
interface OracleCondition {
  /** `tags` are those of the object; undefined if they are unknown. */
  readonly holds: (request: AuthorizationRequest, tags: readonly string[] | undefined) => Outcome
  readonly readsId?: true
}

const onBranch = (
  { operation: { branch } }: AuthorizationRequest,
  holds: (branch: string) => boolean,
): Outcome => {
  if (branch === pending) return 'pending'
  return branch === unknown ? 'error' : holds(branch)
}

/** Conditions of generated policies: for each kind of fact, true, false and failing. */
export const conditionSamples: ReadonlyMap<string, OracleCondition> = new Map<string, OracleCondition>([
  ['branch == "main"', { holds: (request) => onBranch(request, (branch) => branch === 'main') }],
  ['branch.like("ci/*")', { holds: (request) => onBranch(request, (branch) => branch.startsWith('ci/')) }],
  [
    'branch != "" && !branch.like("ci/*")',
    {
      holds: (request) => onBranch(request, (branch) => branch !== '' && !branch.startsWith('ci/')),
    },
  ],
  [
    'now >= timestamp("2026-06-15T12:00:00Z")',
    { holds: ({ request }) => request.now >= new Date('2026-06-15T12:00:00Z') },
  ],
  [
    'now < timestamp("2026-06-15T12:00:00Z")',
    { holds: ({ request }) => request.now < new Date('2026-06-15T12:00:00Z') },
  ],
  ['context["env"] == "prod"', { holds: ({ request }) => environmentOf(request.context) }],
  [
    'context["env"] == "prod" || branch == "dev"',
    {
      // As in CEL, an error is ignored if the other operand is true. Of two errors the right one is reported.
      holds: (request) => {
        const [left, right] = [
          environmentOf(request.request.context),
          onBranch(request, (branch) => branch === 'dev'),
        ]
        if (left === true || right === true) return true
        return right === false ? left : right
      },
    },
  ],
  [
    'branch.like("ci/*") || operation == "DropTable"',
    {
      holds: (request) =>
        request.permission === 'DropTable' || onBranch(request, (branch) => branch.startsWith('ci/')),
    },
  ],
  ['"sales" in principal.groups', { holds: ({ principal }) => principal.groups.has('sales') }],
  ['principal.claims.mfa == true', { holds: () => 'error' }],
  ['id.size() == 2', { holds: ({ id }) => id.length === 2, readsId: true }],
  ['"pii" in tags', { holds: (_request, tags) => tags?.includes('pii') ?? 'error' }],
  [
    '!("open" in tags)',
    { holds: (_request, tags) => (tags === undefined ? 'error' : !tags.includes('open')) },
  ],
  [
    '"open" in tags && branch == "main"',
    {
      // As in CEL, an error is ignored if the other operand is false. Of two errors the right one is reported.
      holds: (request, tags) => {
        const left = tags?.includes('open') ?? 'error'
        const right = onBranch(request, (branch) => branch === 'main')
        if (left === false || right === false) return false
        return right === true ? left : right
      },
    },
  ],
  ['operation == "DropTable"', { holds: ({ permission }) => permission === 'DropTable' }],
])

function environmentOf(context: ReadonlyMap<string, string>): boolean | 'error' {
  const environment = context.get('env')
  return environment === undefined ? 'error' : environment === 'prod'
}
