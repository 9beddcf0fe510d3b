import type { Command } from 'commander'
import type { Identifier } from '../interface/identifiers.ts'
import type { Permission } from '../interface/permissions.ts'
import type { Decision } from '../policy/decision.ts'
import { explainDecision, type ExplainedLevel, type ExplainedRule } from '../policy/explain.ts'
import { conditionFacts } from '../policy/fact-faults.ts'
import { factsAvailableTo, whyBranchIsUnknown } from '../policy/operation-facts.ts'
import type { Question } from '../policy/question.ts'
import { referenceTo } from '../policy/rule-reach.ts'
import {
  callerOf,
  callerOptions,
  factOption,
  faultOfFacts,
  idArgument,
  identifier,
  jsonOption,
  operationArgument,
  permission,
  policiesIn,
  policiesOption,
  questionOf,
  type CallerOptions,
  type Fact,
} from './policy-arguments.ts'
import { columns, print, printJson, showCondition, showId, showRule, showSubjects } from './policy-text.ts'

interface Options extends CallerOptions {
  readonly policies: string
  readonly fact: readonly Fact[]
  readonly json?: true
}

/** `policy explain`: why the policies decide as they do. */
export function addExplain(policy: Command): void {
  const command = policy
    .command('explain')
    .description('explain a decision: the deciding rule and all other rules from the root to the object')
    .requiredOption(...policiesOption)
  factOption(callerOptions(command))
    .option(...jsonOption)
    .argument(...operationArgument, permission)
    .argument(...idArgument, identifier)
    .addHelpText(
      'after',
      '\nExample:\n  catalog-gateway policy explain --policies policies --as sam --group sales-engineers ' +
        'InsertIntoTable sales/orders --fact branch=main',
    )
    .action(explain)
}

async function explain(
  operation: Permission,
  id: Identifier,
  options: Options,
  command: Command,
): Promise<void> {
  const fault = faultOfFacts(operation, options.fact)
  if (fault !== undefined) command.error(`error: ${fault}`)
  const { documents, set } = await policiesIn(options.policies)
  const question = questionOf(callerOf(options), operation, id, options.fact)
  const decision = set.decide(question)
  const levels = explainDecision(documents, question)
  if (options.json) {
    printJson({ decision, facts: factsOf(question), levels: levels.map(levelReport) })
    return
  }
  print(showDecision(decision, question.principal.name, operation, id))
  print(`  facts  ${showFacts(question)}`)
  if (levels.length === 0) print('no policy applies to this object or its parents')
  for (const level of levels) showLevel(level)
}

function showDecision(decision: Decision, user: string, operation: Permission, id: Identifier): string {
  const what = `${user}: ${operation} on ${showId(id)}`
  if (decision.rule === undefined) return `denied  ${what}\n  no rule allows it`
  return `${decision.allowed ? 'allowed' : 'denied'}  ${what}\n  by ${showRule(decision.rule)}`
}

/** The facts of the question that conditions can depend on, as they were decided. */
function factsOf({ permission, operation }: Question): readonly DecidedFact[] {
  const available = factsAvailableTo(permission)
  return conditionFacts
    .filter((name) => available.has(name))
    .map((name) => {
      const fact = operation[name]
      if (typeof fact !== 'symbol')
        return { name, value: fact instanceof Map ? Object.fromEntries(fact) : fact }
      return { name, unknown: name === 'branch' ? whyBranchIsUnknown(permission) : 'not stated by requests' }
    })
}

type DecidedFact = { readonly name: string } & ({ readonly value: unknown } | { readonly unknown: string })

function showFacts(question: Question): string {
  const facts = factsOf(question).map((fact) =>
    'value' in fact
      ? `${fact.name}: ${JSON.stringify(fact.value)}`
      : `${fact.name}: unknown (${fact.unknown})`,
  )
  return facts.length === 0 ? 'none' : facts.join(', ')
}

function showLevel(level: ExplainedLevel): void {
  const notes = [
    ...(level.isBoundary ? ['inherit: false, so rules of parents do not allow anything here'] : []),
    ...(level.isReserving ? ['final, so no child policy can allow this'] : []),
  ]
  print(`\n${showId(level.namespace)}${notes.length === 0 ? '' : `  (${notes.join('; ')})`}`)
  const rows = level.rules.map((rule) => [
    `  ${rule.rule.effect}`,
    showRule(referenceTo(rule)),
    showVerdict(rule),
  ])
  for (const line of columns(rows)) print(line)
  if (level.others > 0)
    print(`  ${level.others} ${level.others === 1 ? 'rule' : 'rules'} about other operations`)
}

function showVerdict({ verdict, rule, reason }: ExplainedRule): string {
  const condition = rule.condition === undefined ? '' : showCondition(rule.condition.text)
  const applies = condition === '' ? 'applies' : `applies: true is ${condition}`
  const failed = `${rule.effect === 'deny' ? 'applies' : 'does not apply'}: evaluation failed (${reason ?? ''})`
  const said: Readonly<Record<ExplainedRule['verdict'], string>> = {
    allows: applies,
    denies: applies,
    'other-caller': `other subjects: ${showSubjects(rule.subjects)}`,
    'other-table': `other tables: ${(rule.tables ?? []).join(', ')}`,
    stopped: 'blocked by inherit: false beneath',
    reserved: 'blocked by final above',
    false: `does not apply: false is ${condition}`,
    failed: `${failed}: ${condition}`,
  }
  return said[verdict]
}

function levelReport({ namespace, isBoundary, isReserving, rules, others }: ExplainedLevel): unknown {
  return {
    namespace,
    isBoundary,
    isReserving,
    rules: rules.map((rule) => ({
      ...referenceTo(rule),
      effect: rule.rule.effect,
      verdict: rule.verdict,
      ...(rule.rule.condition && { condition: rule.rule.condition.text }),
      ...(rule.reason !== undefined && { reason: rule.reason }),
    })),
    otherRules: others,
  }
}
