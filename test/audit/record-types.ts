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
  ['identity/api-keys/key-changes.ts', ['KeyChange']],
]

const block = /(?<=<!-- records: npm run reference -->\n)[^]*?(?=<!-- end -->)/

/** Replaces the types of audit records in docs/audit.md by those of the source. */
export async function replaceRecordTypes(page: string): Promise<string> {
  const files = sources.map(async ([path, types]) => {
    const source = await readFile(new URL(`../../src/${path}`, import.meta.url), 'utf8')
    return types.map((type) => simplify(findDeclaration(source, type)))
  })
  const declarations = (await Promise.all(files)).flat().join('\n')
  return page.replace(block, () => `\n\`\`\`ts\n${declarations}\`\`\`\n\n`)
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
