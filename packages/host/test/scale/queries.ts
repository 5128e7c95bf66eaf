const text = `
github create_issue | open a bug report in our repository on github
github list_issue | which problems are still reported for the github repo
github create_pull_request | propose my branch for merging into main
github get_pull_request | look at PR 42 and its changes
github list_workflow_run | did the last CI builds on GitHub Actions pass
github create_release | publish a new version with release notes
github list_release | what versions have been released on github
github create_code_review | leave remarks on the diff of a change
github update_issue | edit the labels of a github issue
github close_pull_request | close the PR without merging it
gitlab create-merge-request | open an MR on gitlab
gitlab list-pipeline | show gitlab CI pipelines
gitlab run-pipeline | kick off the pipeline of a ref
gitlab create-snippet | save a code snippet for the team
gitlab delete-snippet | remove an old snippet
gitlab list-runner | which machines execute our CI jobs
gitlab delete-protected-branch | take the protection off a branch
gitlab create-protected-branch | protect the main branch from pushes
gitlab get-merge-request | read the details of a merge request
gitlab delete-merge-request | throw away that merge request
slack send_message | tell the team channel that lunch is ready on slack
slack search_message | find what somebody wrote in slack last week
slack create_channel | new slack channel for the project
slack list_channel | what channels does our workspace have
slack create_reminder | remind Anna tomorrow at nine on slack
slack list_reminder | my slack reminders
slack create_emoji_reaction | react with a thumbs up emoji
slack update_message | correct a typo in something I posted to slack
slack create_user_group | make a mention group for designers
slack update_channel | change the topic of a channel
mail sendEmail | write an email to my boss
mail searchEmail | find mails about the contract
mail listEmail | newest mails in my inbox
mail deleteEmail | delete this spam mail
mail listDraft | unsent drafts
mail deleteDraft | discard a draft letter
mail getSignature | what does my email signature look like
mail listFilterRule | which rules sort my incoming mail
mail getAutoReply | is my out of office reply on
mail deleteAutoReply | turn the vacation responder off, remove it
calendar events.create | put a meeting with Bob into the calendar on Friday
calendar events.list | appointments of next week
calendar events.cancel | call off tomorrow's meeting
calendar events.update | move my appointment to three o'clock
calendar freebusy.list | when are these people free
calendar rooms.list | which meeting rooms are there
calendar rooms.create | reserve a conference room for ten people
calendar recurrences.create | set up a weekly repeating event
calendar holidays.list | public holidays in Germany
calendar events.share | invite guests to an event
drive createDocument | start a new text document
drive searchSpreadsheet | find the budget spreadsheet
drive getSpreadsheet | read cells A1 to C10
drive exportDocument | download a doc as a file
drive shareFolder | give Maria access to a folder
drive createPresentation | make a slide deck
drive exportPresentation | save my slides as a file
drive createFolder | new folder in the cloud drive
drive createFormSurvey | make a questionnaire with questions
drive shareSpreadsheet | share the sheet with the finance people
jira create_ticket | file a bug in jira
jira assign_ticket | make Tom responsible for the jira ticket
jira search_ticket | find tickets about login failing
jira close_ticket | resolve the jira ticket
jira create_sprint | plan a new scrum sprint
jira close_sprint | finish the current sprint
jira create_epic | new epic for the redesign
jira create_worklog | log two hours of work on a story
jira get_worklog | how much time was spent on the ticket
jira search_component | which component of the project is it
postgres run_sql_query | execute a select statement on the database
postgres list_table | what tables does the database have
postgres create_index | make a slow lookup fast with an index
postgres create_backup | dump the database
postgres list_backup | existing database dumps
postgres list_slow_statement | which SQL statements are slow
postgres export_table | table as CSV
postgres get_table | columns and constraints of a table
postgres create_table | new table with columns
postgres get_slow_statement | query plan of a slow statement
files get_file | open /etc/hosts and show its contents
files create_file | write text to a file on disk
files list_directory | what is in this folder on my disk
files delete_directory | remove a directory with everything in it
files search_file | find files that contain a word
files create_archive_zip | pack these files into a zip
files get_file_permissions | who owns the file and what is its mode
files create_symlink | make a symbolic link
files list_archive_zip | what does the zip archive hold
files delete_file | erase a file from the disk
browser create-tab | open a web page in the browser
browser get-screenshot | take a picture of the page
browser run-form-input | fill in the login form and press the button
browser list-cookie | cookies of this site
browser run-script | evaluate javascript in the page
browser close-tab | close the browser tab
browser list-tab | which pages are open
browser create-cookie | set a cookie for a domain
browser get-cookie | read a session cookie
browser create-screenshot | capture a screenshot of the page
weather getForecast | will it rain in Paris tomorrow
weather getCurrentConditions | how warm is it outside right now, current weather
weather listStormWarning | are there storm warnings
weather getAirQuality | pollen and ozone today
weather getClimateHistory | climate measurements of past years
weather analyzeClimateHistory | temperature trends over the last decades of climate history
weather exportForecast | forecast as a CSV file
weather searchStormWarning | look for flood warnings in a region
weather getStormWarning | details of the hail alert
weather exportClimateHistory | download historic climate data
maps directions.get | how do I get from the station to the airport by train
maps places.search | restaurants near me that are open now
maps geocodes.get | coordinates of an address
maps elevations.get | how high above sea level is the summit
maps traffic.get | is there a traffic jam on the highway
maps directions.list | alternative routes to the destination by bike
maps places.get | opening hours of a shop, place details
maps places.share | send my friend a restaurant, share the place
maps traffic.analyze | statistics of traffic on a road
maps geocodes.search | look up latitude and longitude for a street
stripe create_payment | charge a customer's card
stripe create_refund | give the buyer their money back
stripe cancel_subscription | end a customer's subscription
stripe list_invoice | invoices that we have billed
stripe create_invoice | bill a client for consulting
stripe list_payout | transfers to our bank account
stripe analyze_payment | revenue figures of payments
stripe get_payment | look up one payment
stripe create_subscription | sign a customer up for a monthly plan with a trial
stripe cancel_payment | abort a card payment that has not gone through
crm createContact | add a new person with phone number to the CRM
crm searchContact | find a contact at Siemens
crm updateOpportunity | move a deal to the next stage
crm createOpportunity | a new deal that we could win
crm assignOpportunity | hand the deal over to a sales colleague
crm searchAccount | which companies are customers in the chemical industry
crm createCampaign | plan a marketing campaign
crm createCallNote | write down what was said on the phone with a client
crm exportContact | all contacts as CSV
crm updateAccount | change the industry of a company account
kubernetes get-pod-logs | show the logs of the crashing container
kubernetes list-pod | which pods are running in the namespace
kubernetes update-deployment | scale a deployment to five replicas
kubernetes delete-pod | kill the pod so that it restarts
kubernetes get-config-map | settings in a configmap
kubernetes update-config-map | change a config map value
kubernetes run-cron-job | trigger the cron job now
kubernetes list-deployment | all deployments of the cluster
kubernetes delete-cron-job | remove a scheduled kubernetes job
kubernetes get-deployment | how many replicas does the deployment have
s3 create_bucket | make a bucket in eu-central-1
s3 list_object | what is stored in the bucket
s3 create_object | upload a blob to s3
s3 get_object | download an object by its key
s3 delete_object | remove an object from the bucket
s3 create_presigned_url | a temporary link to download an object
s3 list_object_version | earlier versions of an object
s3 create_lifecycle_rule | expire old objects after 30 days
s3 delete_bucket | get rid of an empty bucket
s3 list_bucket | all our buckets
sentry get_crash_report | stack trace of the exception
sentry list_crash_report | newest exceptions in production
sentry assign_crash_report | give the crash to a developer
sentry close_crash_report | mark the exception as fixed, resolve it
sentry list_alert_rule | which rules alert us when errors rise
sentry get_performance_trace | why is the request slow, spans of the trace
sentry analyze_performance_trace | statistics of request durations in traces
sentry get_session_replay | watch the recording of what a visitor did
sentry get_release_health | how crash-free is the new version
sentry list_session_replay | recordings of visitors
spotify searchTrack | find a song by Queen
spotify runPlayback | start playing music on the kitchen speaker
spotify listPlaylist | my playlists
spotify getPlaylist | which songs are in the playlist
spotify searchPodcast | podcast episodes about history
spotify getPlayback | what song is playing now
spotify sharePlaylist | share my playlist with a friend
spotify getArtist | albums of a band
spotify searchArtist | look for a musician
spotify getTrack | details of a song
home update_light | switch on the lamp in the living room
home update_thermostat | make the bedroom warmer, set heating to 21 degrees
home update_door_lock | lock the front door
home get_door_lock | is the door locked
home run_vacuum_robot | let the robot vacuum the hallway
home analyze_energy_meter | electricity usage of the last month, totals
home get_energy_meter | how much power do we use now
home list_light | which lamps are there at home
home get_thermostat | what is the heating set to
home get_light | brightness of the kitchen light
hr leave_requests.create | ask for days off in July
hr leave_requests.cancel | withdraw my request for time off
hr payslips.get | my pay slip of March
hr employees.get | who is her manager, employee record
hr employees.create | enter a newly hired employee
hr job_postings.create | advertise an open position
hr interviews.create | arrange an interview with an applicant
hr interviews.cancel | call off the interview
hr payslips.export | all payslips as a file
hr employees.update | change the role of an employee
`

/** Wishes in people's own words, each with the one tool that fulfils it. */
export const queries: readonly { server: string; tool: string; query: string }[] = text
  .trim()
  .split('\n')
  .map((line) => {
    const [target = '', query = ''] = line.split(' | ')
    const [server = '', tool = ''] = target.split(' ')
    return { server, tool, query }
  })
