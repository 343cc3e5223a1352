//! A panel on the client of crates.io. Answers each line of JSON, a call and its arguments, with a line.
use epay_sdk::{Client, Money, PayType, PaymentRequest};
use std::collections::HashSet;
use std::io::BufRead;

type Outcome = Result<serde_json::Value, Box<dyn std::error::Error>>;

fn call(client: &epay_sdk::blocking::Client, name: &str, args: &[String], credited: &mut HashSet<String>) -> Outcome {
    match name {
        "create" => {
            let request = PaymentRequest::new(PayType::Alipay, &args[0], "Gold", Money::from_yuan_str(&args[1])?);
            let made = client.create_payment(&request.client_ip("203.0.113.7").device("pc"))?;
            Ok(serde_json::json!({ "url": made.pay_url }))
        }
        "is_paid" => Ok(client.query_order_by_out_trade_no(&args[0])?.is_paid().into()),
        "notice" => {
            let fields = epay_sdk::parse_notify_params(Some(&args[0]), None)?;
            let read = client.inner().verify_notify(&fields)?.try_into_success()?.into_inner();
            let is_mine = read.out_trade_no == args[1] && read.money_matches(Money::from_yuan_str(&args[2])?);
            let is_new = is_mine && credited.insert(read.out_trade_no);
            let ack = if is_mine { "success" } else { "fail" };
            Ok(serde_json::json!({ "ack": ack, "credited": is_new }))
        }
        _ => Err(name.into()),
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let given = |name: &str| std::env::var(name).unwrap_or_default();
    let inner = Client::builder(given("PID").parse()?, given("KEY"), given("BASE_URL"))
        .allow_insecure_http(true)
        .allow_insecure_callback_http(true)
        .notify_url(given("NOTIFY_URL"))
        .build()?;
    let client = epay_sdk::blocking::Client::new(inner)?;
    let mut credited = HashSet::new();
    for line in std::io::stdin().lock().lines() {
        let asked: serde_json::Value = serde_json::from_str(&line?)?;
        let args: Vec<String> = serde_json::from_value(asked["args"].clone())?;
        let answer = match call(&client, asked["call"].as_str().unwrap_or(""), &args, &mut credited) {
            Ok(result) => serde_json::json!({ "result": result }),
            Err(error) => serde_json::json!({ "error": { "kind": "refused", "message": error.to_string() } }),
        };
        println!("{answer}");
    }
    Ok(())
}
