import { openAccessView, reloadAccessView } from './access-view.js'
import { showChanges } from './changes-view.js'
import { setGatewayUrl } from './commands.js'
import { byId } from './elements.js'
import { timeOfDay } from './format.js'
import { openPlayground } from './playground-view.js'
import { showRefusals } from './refusals-view.js'
import { openSearch } from './search.js'
import { showState, showStatus } from './state-views.js'

const pollIntervalMs = 2000
const pause = byId('pause')
let isPaused = false
/** @type {{ readonly refusals: readonly import('../console-state.ts').RefusedRequest[], readonly changes: readonly import('../newest-changes.ts').RecordedChange[] } | undefined} */
let latest
/**
 * When the gateway sent the shown data, by its own clock.
 * @type {Date | undefined}
 */
let newestAt
/** @type {string | undefined} */
let revision

pause.addEventListener('click', () => {
  isPaused = !isPaused
  pause.setAttribute('aria-pressed', String(isPaused))
  pause.textContent = isPaused ? 'Resume' : 'Pause'
})

openSearch(showFeeds)
void openAccessView().catch(() => undefined)
void openPlayground().catch(() => undefined)
void poll()

/** Shows the newest data, as far as the search finds it. */
function showFeeds() {
  if (latest === undefined) return
  showRefusals(latest.refusals)
  showChanges(latest.changes)
}

/**
 * Greys data that the gateway no longer updates, and says how old it is.
 * @param {boolean} isFresh
 */
function showFreshness(isFresh) {
  document.body.classList.toggle('stale', !isFresh)
  const stale = byId('stale')
  stale.toggleAttribute('hidden', isFresh || newestAt === undefined)
  if (newestAt !== undefined) stale.textContent = `as of ${timeOfDay(newestAt)}`
}

/** Polls while the page is visible. */
async function poll() {
  for (;;) {
    if (!isPaused && !document.hidden) await refresh()
    await new Promise((resolve) => setTimeout(resolve, pollIntervalMs))
  }
}

async function refresh() {
  try {
    const response = await fetch('console/data', { signal: AbortSignal.timeout(10_000) })
    if (!response.ok) throw new Error(`the gateway returned status ${response.status}`)
    const { state, refusals, changes, seal } = await response.json()
    if (state.url !== undefined) setGatewayUrl(state.url)
    showState(state, seal)
    latest = { refusals, changes }
    showFeeds()
    showFreshness(true)
    newestAt = new Date(state.now)
    const hasChanged = revision !== undefined && revision !== state.policies.revision
    revision = state.policies.revision
    if (hasChanged) await reloadAccessView()
  } catch (error) {
    showStatus(`not reachable: ${error instanceof Error ? error.message : String(error)}`, false)
    showFreshness(false)
  }
}
