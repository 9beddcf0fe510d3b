import { groupBy } from '../../lib/index.ts'

/** The value that replaces `{variable}` in one document of a policy with `forEach`. */
export interface PolicyInstance {
  readonly variable: string
  readonly value: string
}

export const expectedVariable =
  'one variable, named by letters, digits and _, with its values, such as { team: [crm, billing] }'

/** Names of variables have no dash, so that `{3f2504e0-4f89}` in the name of a group is none. */
const name = '[A-Za-z][A-Za-z0-9_]*'
export const variableName = new RegExp(`^${name}$`)
/** Also `{{ team }}` and `${team}`, as other languages of templates have it. Bounded, so that the time of a search is linear. */
const placeholder = new RegExp(String.raw`\$?\{{1,2}\s{0,9}(${name})\s{0,9}\}{1,2}`, 'g')

export function formatPlaceholder(variable: string): string {
  return `{${variable}}`
}

/** Replaces each `{variable}` by the value. */
export function fillText(template: string, { variable, value }: PolicyInstance): string {
  return template.replaceAll(formatPlaceholder(variable), value)
}

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

interface NamedDocument {
  readonly name: string
  readonly instance: PolicyInstance | undefined
}

/**
 * Returns the name of a document: `teams[crm]` for the value `crm` of `teams`, otherwise the name of the policy. As names of
 * policies contain no brackets, it is unique if the name of the policy is.
 */
export function nameDocument(policy: string, instance: PolicyInstance | undefined): string {
  return instance === undefined ? policy : `${policy}[${instance.value}]`
}

/** Returns the name of the policy that a document is of: `teams` for `teams[crm]`. */
export function getPolicyName({ name, instance }: NamedDocument): string {
  return instance === undefined ? name : name.slice(0, -nameDocument('', instance).length)
}

/**
 * Merges messages about the documents of a policy with `forEach` that have the same key and differ only in the value. One
 * that all documents have names the variable, any other the values that have it. `policy` is the name of the document that
 * a message is about; it is undefined, or not that of a document, for a message about none.
 */
export function mergeByPolicy<Item extends { readonly message: string; readonly policy?: string }>(
  items: readonly Item[],
  documents: readonly NamedDocument[],
  keyOf: (item: Item) => string = () => '',
): readonly Item[] {
  const byName = new Map(documents.map((document) => [document.name, document]))
  const ofPolicy = groupBy(byName.values(), getPolicyName)
  const find = ({ policy = '' }: Item): NamedDocument => byName.get(policy) ?? nameless
  const groups = groupBy(items, (item) => {
    const document = find(item)
    return [getPolicyName(document), keyOf(item), generalize(item.message, document.instance)].join('\0')
  })
  return [...groups.values()].flatMap((group) => {
    const [first] = group
    if (first === undefined) return []
    const document = find(first)
    const { instance } = document
    if (instance === undefined) return group
    const values = [...new Set(group.map((item) => find(item).instance?.value))]
    const isOfAll = values.length === ofPolicy.get(getPolicyName(document))?.length
    const others = values.length === 1 ? '' : ` and ${values.length - 1} more`
    if (!isOfAll)
      return [{ ...first, message: `${first.message} (${instance.variable}: ${instance.value}${others})` }]
    const isEqual = group.every(({ message }) => message === first.message)
    return [isEqual ? first : { ...first, message: generalize(first.message, instance) }]
  })
}

const nameless: NamedDocument = { name: '', instance: undefined }

/** Puts the variable back in place of the value, unless that is part of a longer word. */
function generalize(message: string, instance: PolicyInstance | undefined): string {
  if (instance === undefined || !message.includes(instance.value)) return message
  const { variable, value } = instance
  const whole = new RegExp(`(?<![A-Za-z0-9])${value.replaceAll('.', String.raw`\.`)}(?![A-Za-z0-9])`, 'g')
  return message.replaceAll(whole, formatPlaceholder(variable))
}
