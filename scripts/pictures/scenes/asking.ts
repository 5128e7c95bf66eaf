import type { Scene } from '../studio.ts'

/** What servers ask while a tool runs, and where a question waits for its answer. */
export const asking: Scene = {
  pictures: ['inbox', 'inbox-park', 'form', 'form-secret', 'visit'],
  async record(studio) {
    const { travel, guide, till } = studio.servers
    const rules = [{ id: 'trip', verdict: 'allow', server: '*' }]
    studio.configure({ mcpServers: { travel, guide, till }, jackfield: { rules } })
    const book =
      'jackfield call travel bookVacation destination=Barcelona departure=2027-06-15 returnDate=2027-06-22'

    await using parked = studio.shell()
    await parked.enter('jackfield call guide seat --park')
    await parked.until(/respond [0-9a-f]{8}/)
    const [, id = ''] = /respond ([0-9a-f]{8})/.exec(parked.history()) ?? []
    await studio.shows('inbox', 'A question waits in the inbox, and is answered from elsewhere', [
      'jackfield inbox',
      `jackfield respond ${id} --accept row=12 window=true`,
      'jackfield inbox --all',
    ])
    await parked.over()
    studio.capture('inbox-park', 'A call that leaves its question in the inbox', parked)
    await parked.close()

    await using form = studio.shell()
    await form.enter(book)
    await form.until('Confirm booking')
    await form.settled()
    studio.capture('form', 'A server asks for a form to be filled in', form)
    await form.close()

    await using secret = studio.shell()
    await secret.enter('jackfield call till open')
    await secret.until('password, which')
    await secret.settled()
    studio.capture('form-secret', 'A form that asks for a password', secret)
    await secret.close()

    await using urlElicitation = studio.shell()
    await urlElicitation.enter('jackfield call till pay')
    await urlElicitation.until('Go there?')
    await urlElicitation.settled()
    studio.capture('visit', 'A server sends you to a page', urlElicitation)
    await urlElicitation.close()
  },
}
