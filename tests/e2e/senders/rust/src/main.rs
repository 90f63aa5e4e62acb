//! The web-push crate, as its documentation shows it.

use std::io::Read;

use serde::Deserialize;
use web_push::{
    ContentEncoding, HyperWebPushClient, SubscriptionInfo, Urgency, VapidSignatureBuilder,
    WebPushClient, WebPushError, WebPushMessageBuilder,
};

#[derive(Deserialize)]
struct Vapid {
    #[serde(rename = "privateKey")]
    private_key: String,
    subject: String,
}

#[derive(Deserialize)]
struct Call {
    subscription: SubscriptionInfo,
    vapid: Vapid,
    payload: Option<String>,
    ttl: u32,
    topic: Option<String>,
    urgency: Option<String>,
    encoding: String,
}

fn urgency_of(text: &str) -> Urgency {
    match text {
        "very-low" => Urgency::VeryLow,
        "low" => Urgency::Low,
        "high" => Urgency::High,
        _ => Urgency::Normal,
    }
}

/// The error's own view: which status it stands for, whether the endpoint is gone, when to retry.
fn report(error: &WebPushError) -> serde_json::Value {
    let (status, expired, retry_after) = match error {
        WebPushError::EndpointNotFound(_) => (404, true, None),
        WebPushError::EndpointNotValid(_) => (410, true, None),
        WebPushError::Unauthorized(_) => (401, false, None),
        WebPushError::BadRequest(_) => (400, false, None),
        WebPushError::PayloadTooLarge => (413, false, None),
        WebPushError::ServerError { retry_after, info } => {
            (info.code, false, retry_after.map(|d| d.as_secs().to_string()))
        }
        WebPushError::Other(info) => (info.code, false, None),
        _ => (0, false, None),
    };
    serde_json::json!({"status": status, "expired": expired, "retryAfter": retry_after,
                       "error": format!("{error:?}")})
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).unwrap();
    let call: Call = serde_json::from_str(&text).unwrap();
    let mut signature =
        VapidSignatureBuilder::from_base64(&call.vapid.private_key, &call.subscription).unwrap();
    signature.add_claim("sub", call.vapid.subject.as_str());
    let mut message = WebPushMessageBuilder::new(&call.subscription);
    message.set_ttl(call.ttl);
    if let Some(topic) = call.topic {
        message.set_topic(topic);
    }
    if let Some(urgency) = &call.urgency {
        message.set_urgency(urgency_of(urgency));
    }
    if let Some(payload) = &call.payload {
        let encoding = if call.encoding == "aesgcm" {
            ContentEncoding::AesGcm
        } else {
            ContentEncoding::Aes128Gcm
        };
        message.set_payload(encoding, payload.as_bytes());
    }
    message.set_vapid_signature(signature.build().unwrap());
    let outcome = match message.build() {
        Ok(message) => HyperWebPushClient::new().send(message).await,
        Err(error) => Err(error),
    };
    let line = match outcome {
        Ok(()) => serde_json::json!({"status": 201, "expired": false, "retryAfter": null, "error": null}),
        Err(error) => report(&error),
    };
    println!("{line}");
}
