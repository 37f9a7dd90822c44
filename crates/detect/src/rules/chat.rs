//! Rules for chat, mail, telephony and social networks.

use crate::finding::Severity::{Critical, High, Medium};
use crate::rule::{Rule, near, token};

const UUID: &str = "[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12}";

#[rustfmt::skip] // one rule, one paragraph: the table is read as a table
pub(crate) static RULES: &[Rule] = &[
    token("slack-bot", "Slack bot token", Critical, &["xoxb-"], "xoxb-[0-9]{8,14}-[A-Za-z0-9-]{18,80}", &["SLACK_BOT_TOKEN={token}"], &["xoxb-your-token"]),
    token("slack-user", "Slack user token", Critical, &["xoxp-", "xoxs-", "xoxo-", "xoxa-", "xoxr-"], "(xoxp|xoxs|xoxo|xoxa|xoxr)-[0-9]{1,14}-[A-Za-z0-9-]{20,120}", &["{token}"], &["xoxp-1"]),
    token("slack-app", "Slack app-level token", Critical, &["xapp-"], "xapp-[0-9]-[A-Z0-9]{8,14}-[0-9]{8,14}-[a-z0-9]{32,80}", &["{token}"], &["xapp-1-A"]),
    token("slack-config", "Slack configuration token", High, &["xoxe"], "xoxe(\\.xoxp|\\.xoxb)?-[0-9]-[A-Za-z0-9]{100,200}", &["{token}"], &["xoxe-1"]),
    token("slack-webhook", "Slack webhook or workflow address", High, &["hooks.slack.com/"], "hooks\\.slack\\.com/(services|workflows|triggers)/[A-Z0-9]{8,12}/[A-Z0-9]{8,14}/[A-Za-z0-9]{20,60}", &["https://{token}"], &["https://hooks.slack.com/services/T/B/x"]),
    token("slack-workflow", "Slack workflow address", High, &["hooks.slack.com/workflows/"], "hooks\\.slack\\.com/workflows/T[A-Z0-9]{7,12}/A[A-Z0-9]{7,12}/[0-9]{16,20}/[A-Za-z0-9]{24}", &["https://{token}"], &["https://hooks.slack.com/workflows/"]),
    token("discord-webhook", "Discord webhook address", High, &["/api/webhooks/"], "discord(app)?\\.com/api/webhooks/[0-9]{17,20}/[A-Za-z0-9_-]{60,80}", &["https://{token}"], &["/api/webhooks/create"]),
    near("discord-bot", "Discord bot token", Critical, &["discord"], "[MNO][A-Za-z0-9_-]{23,27}\\.[A-Za-z0-9_-]{6}\\.[A-Za-z0-9_-]{27,40}", &["DISCORD_TOKEN={token}"], &["discord token"]),
    near("discord-client-secret", "Discord client secret", High, &["discord"], "[A-Za-z0-9_-]{32}", &["DISCORD_CLIENT_SECRET={token}"], &["discord client"]).entropy(3.6),
    token("telegram-bot", "Telegram bot token", Critical, &[":AA"], "(bot)?[0-9]{8,10}:AA[A-Za-z0-9_-]{33}", &["https://api.telegram.org/{token}/getMe", "TELEGRAM_TOKEN={token}"], &["12:AA", "mac 00:AA:bb"]),
    token("teams-webhook", "Microsoft Teams incoming webhook", High, &["webhook.office.com/"], "webhook\\.office\\.com/webhookb2/[a-f0-9@-]{36,80}/IncomingWebhook/[a-f0-9]{32}/[a-f0-9-]{36}", &["https://acme.{token}"], &["webhook.office.com/docs"]),
    token("feishu-webhook", "Feishu or Lark bot webhook", High, &["/open-apis/bot/"], "(open\\.feishu\\.cn|open\\.larksuite\\.com)/open-apis/bot/v2/hook/[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12}", &["https://{token}"], &["/open-apis/bot/v2/hook/xxx"]),
    token("dingtalk-webhook", "DingTalk robot webhook", High, &["oapi.dingtalk.com/robot"], "oapi\\.dingtalk\\.com/robot/send\\?access_token=[a-f0-9]{64}", &["https://{token}"], &["oapi.dingtalk.com/robot/send"]),
    token("dingtalk-sign", "DingTalk robot signing secret", High, &["SEC"], "SEC[a-f0-9]{64}", &["secret: {token}"], &["SECURITY", "SECTION 1"]),
    token("wecom-webhook", "WeCom robot webhook", High, &["qyapi.weixin.qq.com"], "qyapi\\.weixin\\.qq\\.com/cgi-bin/webhook/send\\?key=[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12}", &["https://{token}"], &["qyapi.weixin.qq.com/cgi-bin/gettoken"]),
    near("wechat-app-secret", "WeChat app secret", High, &["wechat", "weixin", "wx_app"], "[a-f0-9]{32}", &["WECHAT_APP_SECRET={token}"], &["wechat pay key"]),
    near("feishu-app-secret", "Feishu app secret", High, &["feishu", "lark_app"], "[A-Za-z0-9]{32}", &["FEISHU_APP_SECRET={token}"], &["feishu app"]).entropy(3.4),
    token("matrix", "Matrix access token", High, &["syt_"], "syt_[A-Za-z0-9+/=]{4,64}_[A-Za-z0-9]{20}_[A-Za-z0-9]{6}", &["access_token: {token}"], &["syt_x"]),
    near("twilio-auth-token", "Twilio auth token", Critical, &["twilio"], "[a-f0-9]{32}", &["TWILIO_AUTH_TOKEN={token}"], &["twilio auth"]),
    near("twilio-api-key", "Twilio API key", Critical, &["twilio"], "SK[a-f0-9]{32}", &["TWILIO_API_KEY={token}"], &["twilio sms key"]),
    token("sendgrid", "SendGrid API key", Critical, &["SG."], "SG\\.[A-Za-z0-9_-]{22}\\.[A-Za-z0-9_-]{43}", &["SENDGRID_API_KEY={token}"], &["SG.x", "MSG.type"]),
    token("mailgun", "Mailgun private API key", High, &["key-"], "key-[a-f0-9]{32}", &["MAILGUN_API_KEY={token}"], &["key-value", "key-0"]),
    token("mailchimp", "Mailchimp API key", High, &["-us"], "[a-f0-9]{32}-us[0-9]{1,2}", &["MAILCHIMP_API_KEY={token}"], &["en-us1", "-us2"]),
    token("brevo", "Brevo API or SMTP key", High, &["xkeysib-", "xsmtpsib-"], "(xkeysib|xsmtpsib)-[a-f0-9]{64}-[A-Za-z0-9]{16}", &["{token}"], &["xkeysib-1"]),
    token("mailersend", "MailerSend API token", High, &["mlsn."], "mlsn\\.[a-f0-9]{64}", &["{token}"], &["mlsn.x"]),
    token("resend", "Resend API key", High, &["re_"], "re_[A-Za-z0-9]{8}_[A-Za-z0-9]{24}", &["RESEND_API_KEY={token}"], &["re_match", "core_x"]).entropy(3.4),
    near("postmark", "Postmark server token", High, &["postmark"], UUID, &["POSTMARK_SERVER_TOKEN={token}"], &["postmark api"]),
    near("messagebird", "MessageBird API key", High, &["messagebird", "message_bird"], "[A-Za-z0-9]{25}", &["MESSAGEBIRD_API_KEY={token}"], &["messagebird api"]).entropy(3.3),
    near("vonage", "Vonage (Nexmo) API secret", High, &["vonage", "nexmo"], "[A-Za-z0-9]{16}", &["NEXMO_API_SECRET={token}"], &["vonage api"]).entropy(3.0),
    near("line-channel", "LINE channel access token", High, &["line_channel", "linebot", "LINE_"], "[A-Za-z0-9+/]{160,180}=", &["LINE_CHANNEL_ACCESS_TOKEN={token}"], &["LINE_WIDTH=80"]),
    near("intercom", "Intercom access token", High, &["intercom"], "[A-Za-z0-9=_-]{60}", &["INTERCOM_ACCESS_TOKEN={token}"], &["intercom app"]).entropy(3.8),
    near("zendesk", "Zendesk API token", High, &["zendesk"], "[A-Za-z0-9]{40}", &["ZENDESK_API_TOKEN={token}"], &["zendesk api"]).entropy(3.7),
    token("facebook", "Facebook or Instagram access token", High, &["EAA", "IGQV", "IGAA"], "(EAA|IGQV|IGAA)[A-Za-z0-9_-]{80,400}", &["access_token={token}"], &["EAAC1"]),
    near("facebook-app", "Facebook app access token", High, &["facebook", "fb_app"], "[0-9]{15,16}\\|[A-Za-z0-9_-]{27}", &["FACEBOOK_APP_TOKEN={token}"], &["facebook app key"]),
    token("twitter-bearer", "X (Twitter) bearer token", High, &["AAAAAAAAAAAAAAAAAAAAA"], "AAAAAAAAAAAAAAAAAAAAA[A-Za-z0-9%]{60,120}", &["Bearer {token}"], &["AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"]),
    near("twitter-consumer-secret", "X (Twitter) consumer or access secret", High, &["twitter"], "[A-Za-z0-9]{45,50}", &["TWITTER_ACCESS_SECRET={token}"], &["twitter handle token"]).entropy(4.0),
    near("linkedin", "LinkedIn client secret", High, &["linkedin"], "[A-Za-z0-9+/=.]{16,40}", &["LINKEDIN_CLIENT_SECRET={token}"], &["linkedin.com/in/key-person"]).entropy(3.4),
    token("vk", "VK access token", High, &["vk1.a."], "vk1\\.a\\.[A-Za-z0-9_-]{150,250}", &["{token}"], &["vk1.a.x"]),
    near("zoom", "Zoom client secret", High, &["zoom"], "[A-Za-z0-9]{32}", &["ZOOM_CLIENT_SECRET={token}"], &["zoom level"]).entropy(3.6),
    token("mattermost-hook", "Rocket.Chat or Mattermost incoming webhook", Medium, &["/hooks/"], "/hooks/[A-Za-z0-9]{17,26}/[A-Za-z0-9]{40,64}", &["https://chat.acme.io{token}"], &["/hooks/pre-commit"]),
];
