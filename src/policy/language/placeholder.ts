import type { ValidateText } from './field.ts'
import type { PolicyInstance } from './policy-document.ts'

/** Names of variables have no dash, so that `{3f2504e0-4f89}` in the name of a group is none. */
const name = '[A-Za-z][A-Za-z0-9_]*'
const variableName = new RegExp(`^${name}$`)
/** Also `{{ team }}`, as other languages of templates have it. Bounded, so that the time of a search is linear. */
const placeholder = new RegExp(String.raw`\{{1,2}\s{0,9}(${name})\s{0,9}\}{1,2}`, 'g')

export function isVariableName(text: string): boolean {
  return variableName.test(text)
}

export function formatPlaceholder(variable: string): string {
  return `{${variable}}`
}

export interface FilledText {
  readonly text: string
  /** Messages about names in braces other than that of the variable, in whose place the value is put, too. */
  readonly problems: readonly string[]
  /** Returns the index in the template of a character of the text. */
  readonly indexInTemplate: (index: number) => number
}

/** Replaces each `{variable}` by the value, and nothing else. */
export function replaceVariable(template: string, { variable, value }: PolicyInstance): string {
  return template.replaceAll(formatPlaceholder(variable), () => value)
}

/** Replaces each `{variable}` by the value. Returns undefined for a text without any name in braces. */
export function fillText(template: string, { variable, value }: PolicyInstance): FilledText | undefined {
  const found = [...template.matchAll(placeholder)]
  if (found.length === 0) return undefined
  const expected = formatPlaceholder(variable)
  const others = found.filter(([written]) => written !== expected)
  return {
    text: template.replaceAll(placeholder, () => value),
    problems: others.map(
      ([written]) => `"${written}" is not the variable of forEach; expected "${expected}"`,
    ),
    indexInTemplate(index) {
      let surplus = 0
      for (const { 0: written, index: start } of found) {
        const startInText = start - surplus
        if (index < startInText) break
        if (index < startInText + value.length) return start
        surplus += written.length - value.length
      }
      return index + surplus
    },
  }
}

/** Rejects a name with `{team}` in a policy that has no `forEach`. */
export const rejectPlaceholder: ValidateText = (text) => {
  const [, name] = text.includes('{') ? ([...text.matchAll(placeholder)][0] ?? []) : []
  if (name === undefined) return undefined
  return (item) =>
    `${item} is ${JSON.stringify(text)}, but the policy has no forEach; expected forEach: { ${name}: [...] } with its values`
}
