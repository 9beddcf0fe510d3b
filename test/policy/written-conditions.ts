import { pending, unknown } from '../../src/policy/fact.ts'
import type { Question } from '../../src/policy/question.ts'

/** What a condition comes to. An error and `unknown` count against the caller, and `pending` as the outlook says. */
type Outcome = boolean | 'error' | 'pending'

/** What a condition says, told without CEL. */
interface SlowCondition {
  readonly holds: (question: Question) => Outcome
  readonly asksForId?: true
}

const onBranch = ({ operation: { branch } }: Question, holds: (branch: string) => boolean): Outcome => {
  if (branch === pending) return 'pending'
  return branch === unknown ? 'error' : holds(branch)
}

/** Conditions for generated policies: of each kind of fact, true, false and failing. */
export const writtenConditions: ReadonlyMap<string, SlowCondition> = new Map<string, SlowCondition>([
  ['branch == "main"', { holds: (question) => onBranch(question, (branch) => branch === 'main') }],
  ['branch.like("ci/*")', { holds: (question) => onBranch(question, (branch) => branch.startsWith('ci/')) }],
  ['context["env"] == "prod"', { holds: ({ request }) => environmentOf(request.context) }],
  [
    'context["env"] == "prod" || branch == "dev"',
    {
      // As in CEL: an error beside what is true is no error. Of two errors the one on the right is told.
      holds: (question) => {
        const [left, right] = [
          environmentOf(question.request.context),
          onBranch(question, (branch) => branch === 'dev'),
        ]
        if (left === true || right === true) return true
        return right === false ? left : right
      },
    },
  ],
  [
    'branch.like("ci/*") || operation == "DropTable"',
    {
      holds: (question) =>
        question.permission === 'DropTable' || onBranch(question, (branch) => branch.startsWith('ci/')),
    },
  ],
  ['"sales" in principal.groups', { holds: ({ principal }) => principal.groups.has('sales') }],
  ['principal.claims.mfa == true', { holds: () => 'error' }],
  ['id.size() == 2', { holds: ({ id }) => id.length === 2, asksForId: true }],
  ['operation == "DropTable"', { holds: ({ permission }) => permission === 'DropTable' }],
])

function environmentOf(context: ReadonlyMap<string, string>): boolean | 'error' {
  const environment = context.get('env')
  return environment === undefined ? 'error' : environment === 'prod'
}
