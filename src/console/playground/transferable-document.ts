import {
  compileCondition,
  type Condition,
  createRequirement,
  type PolicyDocument,
} from '../../policy/index.ts'

/** A policy document that can be posted between threads: plain data, without compiled conditions. */
export type TransferableDocument = ReturnType<typeof toTransferable>

export function toTransferable(document: PolicyDocument) {
  const rules = document.rules.map(({ condition, ...rule }) => ({
    ...rule,
    // CEL, unless it is a commit requirement.
    condition: condition && { text: condition.text, requirement: condition.requirement },
  }))
  return { ...document, rules }
}

export function restoreDocument(document: TransferableDocument): PolicyDocument {
  const rules = document.rules.map(({ condition, ...rule }) => ({
    ...rule,
    condition: condition && restoreCondition(condition),
  }))
  return { ...document, rules }
}

function restoreCondition({
  text,
  requirement,
}: NonNullable<TransferableDocument['rules'][number]['condition']>): Condition {
  if (requirement !== undefined) return createRequirement(requirement).condition
  const condition = compileCondition(text)
  if (!('evaluate' in condition)) throw new Error(`a condition that was valid is not: ${condition.message}`)
  return condition
}
