/** What tells the documents of a policy with `forEach` apart: one of its values, in place of `{variable}`. */
export interface PolicyInstance {
  readonly variable: string
  readonly value: string
}

export const expectedVariable =
  'one variable, named by letters, digits and _, with its values, such as { team: [crm, billing] }'

/** Names of variables have no dash, so that `{3f2504e0-4f89}` in the name of a group is none. */
const name = '[A-Za-z][A-Za-z0-9_]*'
const variableName = new RegExp(`^${name}$`)
/** Also `{{ team }}` and `${team}`, as other languages of templates have it. Bounded, so that the time of a search is linear. */
const placeholder = new RegExp(String.raw`\$?\{{1,2}\s{0,9}(${name})\s{0,9}\}{1,2}`, 'g')

export function isVariableName(text: string): boolean {
  return variableName.test(text)
}

export function formatPlaceholder(variable: string): string {
  return `{${variable}}`
}

interface FilledText {
  readonly text: string
  /** Returns the index in the template of a character of the text. */
  readonly indexInTemplate: (index: number) => number
}

/** Replaces each `{variable}` by the value. */
export function fillText(template: string, { variable, value }: PolicyInstance): FilledText {
  const [first = '', ...more] = template.split(formatPlaceholder(variable))
  return {
    text: [first, ...more].join(value),
    indexInTemplate(index) {
      let [inText, inTemplate] = [first.length, first.length]
      for (const part of more) {
        if (index < inText) break
        if (index < inText + value.length) return inTemplate
        inText += value.length + part.length
        inTemplate += formatPlaceholder(variable).length + part.length
      }
      return index + inTemplate - inText
    },
  }
}

/** Lists names in braces other than that of the variable, each with what is expected. */
export function describeOtherVariables(template: string, variable: string): readonly string[] {
  const expected = formatPlaceholder(variable)
  return [...template.matchAll(placeholder)]
    .filter(([written]) => written !== expected)
    .map(([written]) => `"${written}" is not the variable of forEach; expected "${expected}"`)
}

/** Returns why a name is none, if it has a `{team}` in a policy without `forEach`. */
export function describePlaceholder(text: string): string | undefined {
  const [, name] = text.includes('{') ? ([...text.matchAll(placeholder)][0] ?? []) : []
  if (name === undefined) return undefined
  return ` is ${JSON.stringify(text)}, but the policy has no forEach; expected forEach: { ${name}: [...] } with its values`
}
