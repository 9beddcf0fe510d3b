import type { Question } from '../../src/policy/question.ts'

/** What a condition says, told without CEL. */
interface SlowCondition {
  readonly holds: (question: Question) => boolean | 'error'
  /** What it asks for besides the head of the request. */
  readonly asks?: 'body' | 'object'
}

/** Conditions for generated policies: of each kind of fact, true, false and failing. */
export const writtenConditions: ReadonlyMap<string, SlowCondition> = new Map<string, SlowCondition>([
  ['branch == "main"', { holds: ({ operation }) => operation.branch === 'main', asks: 'body' }],
  ['branch.like("ci/*")', { holds: ({ operation }) => operation.branch.startsWith('ci/'), asks: 'body' }],
  ['context["env"] == "prod"', { holds: ({ request }) => environmentOf(request.context) }],
  [
    'context["env"] == "prod" || branch == "dev"',
    {
      // As in CEL: an error beside what is true is no error.
      holds: ({ request, operation }) => operation.branch === 'dev' || environmentOf(request.context),
      asks: 'body',
    },
  ],
  ['"sales" in principal.groups', { holds: ({ principal }) => principal.groups.has('sales') }],
  ['principal.claims.mfa == true', { holds: () => 'error' }],
  ['id.size() == 2', { holds: ({ id }) => id.length === 2, asks: 'object' }],
  ['operation == "DropTable"', { holds: ({ permission }) => permission === 'DropTable' }],
])

function environmentOf(context: ReadonlyMap<string, string>): boolean | 'error' {
  const environment = context.get('env')
  return environment === undefined ? 'error' : environment === 'prod'
}
