import { z } from 'zod'

/**
 * A PascalCase name of a closed set. Case is ignored; snake_case and the extra quotes of the LanceDB remote client
 * (`"\"ExistOk\""`) are accepted. Parsed to the name itself.
 */
export function caseInsensitiveEnum<const Names extends readonly [string, ...string[]]>(names: Names) {
  const spellings = new Map<string, Names[number]>()
  for (const name of names) {
    spellings.set(name.toLowerCase(), name)
    spellings.set(name.replaceAll(/(?<=.)[A-Z]/g, '_$&').toLowerCase(), name)
  }
  const spelling = z.string().describe(describeNames(names))
  return spelling.transform((text, context): Names[number] => {
    const found = spellings.get(unquoteMode(text).toLowerCase())
    if (found !== undefined) return found
    context.addIssue({ code: 'custom', message: `expected one of ${names.join(', ')}` })
    return z.NEVER
  })
}

/** A mode, spelled as `caseInsensitiveEnum` accepts it; the first name is the default. */
export function modeMember<const Names extends readonly [string, ...string[]]>(names: Names) {
  return caseInsensitiveEnum(names)
    .nullish()
    .describe(`${describeNames(names)} ${names[0]} unless it is sent.`)
    .transform((value): Names[number] => value ?? names[0])
}

/** Removes the extra quotes of the LanceDB remote client. */
function unquoteMode(text: string): string {
  return text.replace(/^"(.*)"$/s, '$1')
}

function describeNames(names: readonly string[]): string {
  return `One of ${names.join(', ')}; case and underscores do not matter.`
}
