import { writeFile } from 'node:fs/promises'
import { settingsReference } from './settings-reference.ts'

/** Writes the reference of all settings anew: `npm run reference`. */
await writeFile(new URL('../CONFIGURATION.md', import.meta.url), settingsReference())
