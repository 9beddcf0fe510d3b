import { runCommand } from '../support/run-command.ts'

const heading = `# Commands

What \`--help\` prints, which every command has. \`catalog-gateway\` is the command of the package and of the images; in a checkout of
this repository, it is \`node dist/main.js\` after \`npm run build\`. The exit status is 0 for success, 1 for a negative result, such
as a failed test or a broken log, and 2 for a wrong use. Results go to standard output, all else to standard error.
`

/** Formats `docs/commands.md`: the help of every command. Of a group, its commands have all that its help says. */
export async function commandReference(): Promise<string> {
  return [heading, ...(await describe([]))].join('\n')
}

async function describe(path: readonly string[]): Promise<readonly string[]> {
  const { output } = await runCommand([...path, '--help'])
  const names = listCommands(output)
  if (names.length === 0) return [`## ${path.join(' ')}\n\n\`\`\`text\n${shorten(output)}\n\`\`\`\n`]
  const sections: string[] = []
  for (const name of names) sections.push(...(await describe([...path, name])))
  return sections
}

/** Help without the option that every command has, and without the usage where it only says that there are options. */
function shorten(help: string): string {
  return help
    .trimEnd()
    .replace(/^ {2}-h, --help .*\n/m, '')
    .replace(/^Usage: catalog-gateway [a-z -]+ \[options\]\n\n/, '')
}

function listCommands(help: string): readonly string[] {
  const listed = help.split('\nCommands:\n')[1]?.split('\n\n')[0] ?? ''
  const names = [...listed.matchAll(/^ {2}([a-z-]+)/gm)].map(([, name = '']) => name)
  return names.filter((name) => name !== 'help')
}
