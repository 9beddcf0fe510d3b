/**
 * Formats an id as commands read it.
 * @param {readonly string[]} names
 */
export function formatId(names) {
  const isUnambiguous = names.every((name) => /^[^/$]+$/.test(name)) && !names[0]?.startsWith('[')
  return isUnambiguous ? names.join('/') || '/' : JSON.stringify(names)
}

/** @typedef {import('../../policy/engine/decision.ts').RuleReference} RuleReference */

/** @param {RuleReference} rule */
export function ruleName({ policy, rule }) {
  return `${policy}/${rule}`
}

/**
 * `sales/write (sales.yaml:7)`.
 * @param {RuleReference} rule
 */
export function ruleText(rule) {
  return `${ruleName(rule)} (${rule.file}:${rule.line})`
}

/**
 * `3 h 20 min`.
 * @param {number} ms
 */
export function formatDuration(ms) {
  const minutes = Math.floor(ms / 60_000)
  if (minutes < 1) return `${Math.max(0, Math.floor(ms / 1000))} s`
  if (minutes < 60) return `${minutes} min`
  const hours = Math.floor(minutes / 60)
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} days`
}

/**
 * `1,204`.
 * @param {number} value
 */
export function formatNumber(value) {
  return value.toLocaleString('en')
}
