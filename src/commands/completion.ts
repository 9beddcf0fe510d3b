import { Argument, type Command } from 'commander'
import { formatExample } from './common/format-example.ts'
import { printLine, type Io } from './common/io.ts'
import { newCommand } from './common/new-command.ts'

const formatScript = { bash: formatBash, zsh: formatZsh, fish: formatFish } as const

const shells = ['bash', 'zsh', 'fish'] as const

/** `loadAll` returns the other commands of the program. */
export function completionCommand(io: Io, loadAll: () => Promise<readonly Command[]>): Command {
  return newCommand('completion', io)
    .description('print a script that lets a shell complete commands and options')
    .addArgument(new Argument('<shell>', 'the shell').choices(shells))
    .addHelpText('after', formatExample('source <(catalog-gateway completion bash)'))
    .action(async (shell: (typeof shells)[number]) => {
      const program = newCommand('catalog-gateway', io)
      for (const command of await loadAll()) program.addCommand(command)
      printLine(io, formatScript[shell](listPlaces(program, [])))
    })
}

/** A command, and the words that may follow it. */
interface Place {
  /** Names from the program on, without its own. */
  readonly path: readonly string[]
  readonly commands: readonly string[]
  readonly options: readonly string[]
}

function listPlaces(command: Command, path: readonly string[]): readonly Place[] {
  const options = command.options.flatMap(({ long }) => long ?? [])
  const commands = command.commands.map((each) => each.name())
  return [
    { path, commands, options: [...options, '--help'] },
    ...command.commands.flatMap((each) => listPlaces(each, [...path, each.name()])),
  ]
}

/** Values of options, which are often files, are completed by the shell itself. */
function formatBash(places: readonly Place[]): string {
  const cases = places.map(
    ({ path, commands, options }) =>
      `    '${path.join(' ')}') words='${[...commands, ...options].join(' ')}' ;;`,
  )
  const known = places.slice(1).map(({ path }) => `'${path.join(' ')}'`)
  return `_catalog_gateway() {
  local path='' words='' word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "\${path:+$path }$word" in
    ${known.join(' | ')}) path="\${path:+$path }$word" ;;
    esac
  done
  case "$path" in
${cases.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _catalog_gateway catalog-gateway`
}

function formatZsh(places: readonly Place[]): string {
  return `autoload -U +X bashcompinit && bashcompinit\n${formatBash(places)}`
}

function formatFish(places: readonly Place[]): string {
  return places
    .flatMap(({ path, commands, options }) => {
      const seen = path.map((name) => `__fish_seen_subcommand_from ${name}`)
      const more = commands.length === 0 ? [] : [`not __fish_seen_subcommand_from ${commands.join(' ')}`]
      const condition = [...seen, ...more].join('; and ')
      const complete = `complete -c catalog-gateway -n '${condition}'`
      return [
        ...(commands.length === 0 ? [] : [`${complete} -f -a '${commands.join(' ')}'`]),
        ...options.map((option) => `${complete} -l ${option.slice(2)}`),
      ]
    })
    .join('\n')
}
