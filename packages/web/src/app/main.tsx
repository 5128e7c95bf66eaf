import './styles/tokens.css'
import { type ReactNode, StrictMode, useSyncExternalStore } from 'react'
import { createRoot } from 'react-dom/client'
import { App } from './app.tsx'
import { HostConnection, HostProvider } from './data/host.tsx'
import { logIn, pageKey, takeLoginKey } from './data/session.ts'
import { firstLanguage, setLanguage, useText } from './i18n/i18n.ts'
import shell from './shell/shell.module.css'
import { Part } from './text/part.tsx'
import { Button } from './ui/ui.tsx'

// First of all, so that the login key does not stay in the address.
const loginKey = takeLoginKey()
/** The path that leads to the issuer; empty where login links log browsers in. */
const signIn = document.querySelector<HTMLMetaElement>('meta[name=sign-in]')?.content

/** Shown if the browser is not logged in, or if the page is of another version than the host. */
function Gate({ reason }: { reason: 'login' | 'refused' | 'build' }): ReactNode {
  const t = useText()
  const isBuild = reason === 'build'
  const action = (): void => {
    if (isBuild) location.reload()
    else location.assign(`${signIn}${location.pathname}${location.search}`)
  }
  return (
    <main className={shell.gate}>
      <h1>Jackfield</h1>
      {(isBuild || !signIn) && <p>{t(`gate.${reason}`)}</p>}
      <p>
        {isBuild || signIn ? (
          <Button look="primary" onClick={action}>
            {t(isBuild ? 'gate.reload' : 'remedy.signIn')}
          </Button>
        ) : (
          <code>jackfield web</code>
        )}
      </p>
    </main>
  )
}

function Connected({ host }: { host: HostConnection }): ReactNode {
  const refusal = useSyncExternalStore(host.onState, () => host.refusal)
  if (refusal !== undefined) return <Gate reason={refusal} />
  return (
    <HostProvider host={host}>
      <Part name="page">
        <App />
      </Part>
    </HostProvider>
  )
}

async function start(): Promise<ReactNode> {
  const [isIn] = await Promise.all([
    loginKey === undefined ? true : logIn(loginKey).catch(() => false),
    setLanguage(firstLanguage()),
  ])
  if (pageKey() === undefined) return <Gate reason={isIn ? 'login' : 'refused'} />
  return <Connected host={new HostConnection()} />
}

const element = document.getElementById('app')
if (element !== null) start().then((page) => createRoot(element).render(<StrictMode>{page}</StrictMode>))
const theme = localStorage.getItem('jackfield.theme')
if (theme !== null) document.documentElement.dataset['theme'] = theme
