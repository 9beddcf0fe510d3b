import { readFileSync } from 'node:fs'

/** A text, and the messages that its author reads. */
interface WrittenCase {
  readonly kind: string
  readonly text: string
  readonly messages: readonly string[]
}

/** Reads the cases of a file: below `== kind`, each is a text, and after `> ` each message about it, or `-` for none. */
export function readWrittenCases(file: URL): readonly WrittenCase[] {
  return readFileSync(file, 'utf8')
    .split(/^== /m)
    .flatMap((section) => {
      const [, kind = '', list = ''] = /^([\w-]+)\n([^]*)$/.exec(section) ?? []
      const found = [...list.matchAll(/((?:(?!> ).*\n)+?)((?:> .*\n)+)/g)]
      if (found.map(([whole]) => whole).join('') !== list) throw new Error(`a case of ${kind} has no message`)
      return found.map(([, text = '', messages = '']) => ({
        kind,
        text: text.trim(),
        messages: messages
          .trim()
          .replace(/^> /, '')
          .split('\n> ')
          .filter((message) => message !== '-'),
      }))
    })
}
