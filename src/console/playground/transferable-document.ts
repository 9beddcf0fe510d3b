import {
  compileCondition,
  type Condition,
  createRequirement,
  type PolicyDocument,
  type PolicyRule,
  type RequirementData,
} from '../../policy/index.ts'

/** A policy document that can be posted between threads: plain data, without compiled conditions. */
export type TransferableDocument = Omit<PolicyDocument, 'rules'> & {
  readonly rules: readonly TransferableRule[]
}

type TransferableRule = Omit<PolicyRule, 'condition'> & {
  readonly condition: TransferableCondition | undefined
}

interface TransferableCondition {
  /** CEL, unless the condition is a commit requirement. */
  readonly text: string
  readonly requirement: RequirementData | undefined
}

export function toTransferable(document: PolicyDocument): TransferableDocument {
  return { ...document, rules: document.rules.map(toTransferableRule) }
}

export function restoreDocument(transferable: TransferableDocument): PolicyDocument {
  const rules = transferable.rules.map((rule) => ({
    ...rule,
    condition: rule.condition && restoreCondition(rule.condition),
  }))
  return { ...transferable, rules }
}

function toTransferableRule(rule: PolicyRule): TransferableRule {
  const { condition } = rule
  return {
    ...rule,
    condition: condition && { text: condition.text, requirement: condition.requirement },
  }
}

function restoreCondition({ text, requirement }: TransferableCondition): Condition {
  if (requirement !== undefined) return createRequirement(requirement).condition
  const condition = compileCondition(text)
  if (!('evaluate' in condition)) throw new Error(`a condition that was valid is not: ${condition.message}`)
  return condition
}
