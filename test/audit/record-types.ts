import { readFile } from 'node:fs/promises'
import { authenticationMethods } from '../../src/identity/principal.ts'

const ofRecords =
  'RecordFrame RecordReference ChainEnd RecordBodies FileTampering SentRequest IntentEntry EndOfIntent OutcomeResult ' +
  'OutcomeEntry Resolution ResolvedEntry RefusalEntry PassThroughEntry ReloadEntry AuditedObject CreatedVersion ' +
  'UploadFacts AuditedPrincipal IntentReference'

const sources: readonly (readonly [path: string, types: readonly string[]])[] = [
  ['audit/records/audit-record.ts', ofRecords.split(' ')],
  ['identity/principal.ts', ['Principal']],
  ['policy/engine/decision.ts', ['RuleReference']],
  ['identity/runtime.ts', ['KeyChange']],
]

const introduction = `// Written by \`npm run reference\` from the types in the code.

export type RecordKind = keyof RecordBodies
export type AnyOperationName = string
export type Permission = string
export type Effect = 'read' | 'change' | 'commit'
// Without the prefix of the headers.
export type RequestContext = Record<string, string>
export type Details = Record<string, unknown>
`

/** Returns the contents of docs/audit-records.ts: the types of audit records, from the source. */
export async function printRecordTypes(): Promise<string> {
  const files = sources.map(async ([path, types]) => {
    const source = await readFile(new URL(`../../src/${path}`, import.meta.url), 'utf8')
    return types.map((type) => simplify(findDeclaration(source, type)))
  })
  const declarations = (await Promise.all(files))
    .flat()
    .map((declaration) => declaration.replace(/^(interface|type) /m, 'export $1 '))
  return [introduction, ...declarations].join('\n')
}

/** Finds an interface without its comment, as its members say what matters, or a type of names with it. */
function findDeclaration(source: string, name: string): string {
  const type = String.raw`(?:/\*\*(?:(?!\*/)[^])*\*/\n)?(?:export )?type ${name} = .*`
  const [found] =
    new RegExp(String.raw`^(?:export )?interface ${name}\b[^]*?^\}|^${type}`, 'm').exec(source) ?? []
  if (found === undefined) throw new Error(`The source has no type ${name}`)
  return `${found}\n`
}

/** Removes what only TypeScript needs, and writes comments on lines of their own. */
function simplify(declaration: string): string {
  return declaration
    .replaceAll(/^export |\breadonly | \| undefined\b/gm, '')
    .replace('ReadonlySet<string> | string[]', 'string[]')
    .replace(/^ *groups: ReadonlySet<string>\n/m, '')
    .replaceAll('ObjectId', 'string[]')
    .replace(
      '(typeof authenticationMethods)[number]',
      authenticationMethods.map((name) => `'${name}'`).join(' | '),
    )
    .replaceAll(/^ *\/\*\*\n|\n *\*\/$/gm, '')
    .replaceAll(/^( *)(?:\/\*\*| \*) (.*?)(?: \*\/)?$/gm, '$1// $2')
}
